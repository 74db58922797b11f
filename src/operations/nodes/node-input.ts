/** The schemas of what clients and machines send about nodes. */
import { z } from 'zod';
import { Fault } from '../../domain/error/fault.ts';
import { OVERWRITES } from '../../domain/install/erasure.ts';
import {
  ARCHITECTURES,
  BOOT_MODES,
  type FactName,
  type HardwareFacts,
  macProblem,
  normalMac,
} from '../../domain/install/node.ts';
import { IN_OUR_WORDS } from '../problem-text.ts';

const CONTROL = /[\p{Cc}\p{Cs}\u2028\u2029]/u;
const LINE_BREAKS_TOO = /[\p{Cs}\u2028\u2029]|(?![\n\t])\p{Cc}/u;

const plain = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((text) => !CONTROL.test(text), 'must not contain control characters');

export const mac = z.string().transform((text, context) => {
  const normal = normalMac(text);
  if (normal !== null) return normal;
  context.addIssue({ code: 'custom', message: macProblem(text) ?? 'is not valid' });
  return z.NEVER;
});

/** Lower case: tags that differ only in case would be confused. */
const tag = z
  .string()
  .toLowerCase()
  .regex(
    /^[a-z0-9](?:[a-z0-9._:-]{0,61}[a-z0-9])?$/,
    'must be 1 to 63 letters, digits, ".", "_", ":" or "-"',
  );
export const MAX_TAGS = 64;
const tags = z
  .array(tag)
  .max(MAX_TAGS)
  .transform((list) => [...new Set(list)]);
/** As hosts use them: DNS does not allow underscores, and many hosts have one. */
export const HOST_NAME = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(?:\.[A-Za-z0-9_-]{1,63})*$/;
export const MAX_HOST_NAME = 253;
const hostname = plain(MAX_HOST_NAME).refine(
  (text) => text === '' || HOST_NAME.test(text),
  'must be a host name',
);
const workflow = z
  .string()
  .refine((text) => text === '' || PROFILE_NAME.test(text), "must be a workflow's name");
export const PROFILE_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

const group = z
  .string()
  .refine(
    (text) => text === '' || PROFILE_NAME.test(text),
    'must be 1 to 63 letters, digits, ".", "_" or "-"',
  );

const oneOf = <Names extends readonly string[]>(names: Names) =>
  z
    .string()
    .toLowerCase()
    .pipe(z.enum(names))
    .meta({ description: `One of ${names.join(', ')}, in any case.` });

const described = {
  hostname: hostname.nullish(),
  vendor: plain(255).nullish(),
  model: plain(255).nullish(),
  serial_number: plain(255).nullish(),
  system_uuid: plain(64).nullish(),
  arch: oneOf(ARCHITECTURES).nullish(),
  boot_mode: oneOf(BOOT_MODES).nullish(),
  workflow: workflow.nullish(),
  group: group.nullish(),
  /** Other names of the two above. */
  workflow_id: workflow.nullish(),
  group_id: group.nullish(),
};

interface TwiceNamed {
  readonly workflow?: string | null | undefined;
  readonly workflow_id?: string | null | undefined;
  readonly group?: string | null | undefined;
  readonly group_id?: string | null | undefined;
}

/** Moves a value from its other name to its own; two names with different values are refused. */
function underOneName<T extends TwiceNamed>(
  input: T,
  context: z.RefinementCtx,
): Omit<T, 'workflow_id' | 'group_id'> & Pick<TwiceNamed, 'workflow' | 'group'> {
  for (const name of ['workflow', 'group'] as const) {
    const [own, other] = [input[name], input[`${name}_id`]];
    if (own === undefined || other === undefined || (own ?? '') === (other ?? '')) continue;
    context.addIssue({
      code: 'custom',
      path: [`${name}_id`],
      message: `is another name of ${name}, and both are given with different values`,
    });
  }
  const { workflow_id, group_id, ...rest } = input;
  return {
    ...rest,
    workflow: input.workflow === undefined ? workflow_id : input.workflow,
    group: input.group === undefined ? group_id : input.group,
  };
}

const nodeInput = z
  .strictObject({ mac_address: mac, ...described, tags: tags.nullish() })
  .transform(underOneName);

const nodePatch = z
  .strictObject({
    ...described,
    tags: tags.nullish(),
    notes: z
      .string()
      .max(10_000)
      .refine((text) => !LINE_BREAKS_TOO.test(text), 'must not contain control characters')
      .nullish(),
  })
  .transform(underOneName);

const stateChange = z.strictObject({
  state: z.string().max(64),
  comment: plain(1000).nullish(),
  force: z.boolean().default(false),
  /** For an erasure. */
  overwrite: oneOf(OVERWRITES).nullish(),
});

const node_ids = z.array(plain(128)).min(1).max(1000);
const bulkStateChange = stateChange.extend({ node_ids });

const bulkTags = z
  .strictObject({ node_ids, add: tags.default([]), remove: tags.default([]) })
  .refine(({ add, remove }) => add.length + remove.length > 0, 'needs tags to add or to remove')
  .refine(({ add, remove }) => !add.some((one) => remove.includes(one)), 'adds and removes the same tag');

const bulkWorkflow = z
  .strictObject({ node_ids, workflow: workflow.nullish(), workflow_id: workflow.nullish() })
  .transform(underOneName)
  .refine((given) => given.workflow !== undefined, {
    path: ['workflow'],
    message: 'is required; null takes it off',
  });

const bulkGroup = z
  .strictObject({ node_ids, group: group.nullish(), group_id: group.nullish() })
  .transform(underOneName)
  .refine((given) => given.group !== undefined, {
    path: ['group'],
    message: 'is required; null takes it off',
  });

const bulkApproval = z
  .strictObject({
    node_ids,
    workflow: workflow.nullish(),
    workflow_id: workflow.nullish(),
    comment: plain(1000).nullish(),
    force: z.boolean().default(false),
  })
  .transform(underOneName);

const tagInput = z.strictObject({ tag });

/** The bodies that clients send, by what they ask for: the documentation of the routes shows the same schemas. */
export const NODE_BODIES = {
  create: nodeInput,
  patch: nodePatch,
  stateChange,
  tag: tagInput,
  bulkStateChange,
  bulkApproval,
  bulkTags,
  bulkWorkflow,
  bulkGroup,
} as const;

export type NodeInput = z.output<typeof nodeInput>;
export type NodePatch = z.output<typeof nodePatch>;
export type StateChange = z.output<typeof stateChange>;
export type Approval = Omit<z.output<typeof bulkApproval>, 'node_ids'>;

export const readNodeInput = (body: unknown) => read(nodeInput, body);
export const readNodePatch = (body: unknown) => read(nodePatch, body);
export const readStateChange = (body: unknown) => read(stateChange, body);
export const readBulkStateChange = (body: unknown) => read(bulkStateChange, body);
export const readBulkTags = (body: unknown) => read(bulkTags, body);
export const readBulkWorkflow = (body: unknown) => read(bulkWorkflow, body);
export const readBulkGroup = (body: unknown) => read(bulkGroup, body);
export const readBulkApproval = (body: unknown) => read(bulkApproval, body);
export const readTag = (body: unknown) => read(tagInput, body).tag;

/** Throws one fault with everything that is wrong, each with its field. */
export function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body, IN_OUR_WORDS);
  if (parsed.success) return parsed.data;
  const violations = parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({
          subject: [...issue.path, key].join('.').slice(0, 80),
          description: 'there is no such field',
        }))
      : [{ subject: issue.path.join('.') || 'body', description: issue.message }],
  );
  throw new Fault('INVALID_FIELD', {
    message: violations.map(({ subject, description }) => `${subject}: ${description}`).join('; '),
    violations,
  });
}

/** All but the IP address, which the network assigns. */
export const EDITABLE_FACTS = [
  'hostname',
  'vendor',
  'model',
  'serialNumber',
  'systemUuid',
  'arch',
  'bootMode',
] as const satisfies readonly FactName[];

export const NO_FACTS: HardwareFacts = {
  hostname: '',
  vendor: '',
  model: '',
  serialNumber: '',
  systemUuid: '',
  arch: '',
  bootMode: '',
  ipAddress: '',
};

/** The facts of a node that has reported none. */
export const FACT_DEFAULTS: HardwareFacts = {
  ...NO_FACTS,
  arch: ARCHITECTURES[0],
  bootMode: BOOT_MODES[0],
};

/** Facts by their names in bodies. */
export const FACT_FIELDS = {
  hostname: 'hostname',
  vendor: 'vendor',
  model: 'model',
  serialNumber: 'serial_number',
  systemUuid: 'system_uuid',
  arch: 'arch',
  bootMode: 'boot_mode',
  ipAddress: 'ip_address',
} as const satisfies Record<FactName, string>;

type NamedFacts = Partial<Record<(typeof FACT_FIELDS)[FactName], string | null | undefined>>;

export function factsOf(input: NamedFacts): HardwareFacts {
  return {
    hostname: input.hostname ?? '',
    vendor: input.vendor ?? '',
    model: input.model ?? '',
    serialNumber: input.serial_number ?? '',
    systemUuid: input.system_uuid ?? '',
    arch: input.arch ?? '',
    bootMode: input.boot_mode ?? '',
    ipAddress: input.ip_address ?? '',
  };
}
