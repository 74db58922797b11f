/** What clients and machines say of nodes, checked where it comes in. */
import { z } from 'zod';
import { Fault } from '../domain/fault.ts';
import { type HardwareFacts, normalMac } from '../domain/node.ts';
import { IN_OUR_WORDS } from './problem-text.ts';

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
  context.addIssue({
    code: 'custom',
    message: 'must be six pairs of hex digits with ":" or "-" between them',
  });
  return z.NEVER;
});

const tag = z
  .string()
  .regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9._:-]{0,61}[A-Za-z0-9])?$/,
    'must be 1 to 63 letters, digits, ".", "_", ":" or "-"',
  );
const tags = z
  .array(tag)
  .max(64)
  .transform((list) => [...new Set(list)]);
/** As hosts have them: DNS would not take an underscore, and many a host has one. */
export const HOST_NAME = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(?:\.[A-Za-z0-9_-]{1,63})*$/;
export const MAX_HOST_NAME = 253;
const hostname = plain(MAX_HOST_NAME).refine(
  (text) => text === '' || HOST_NAME.test(text),
  'must be a host name',
);
const workflow = z
  .string()
  .refine((text) => text === '' || WORKFLOW_NAME.test(text), 'must be a workflow’s name');
export const WORKFLOW_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

const facts = {
  hostname: hostname.nullish(),
  vendor: plain(255).nullish(),
  model: plain(255).nullish(),
  serial_number: plain(255).nullish(),
  system_uuid: plain(64).nullish(),
};

const oneOf = <Names extends readonly string[]>(names: Names) => z.string().toLowerCase().pipe(z.enum(names));

const nodeInput = z.object({
  mac_address: mac,
  ...facts,
  arch: plain(32).nullish(),
  boot_mode: oneOf(['bios', 'uefi'] as const).nullish(),
  workflow: workflow.nullish(),
  tags: tags.nullish(),
});

const nodePatch = z.object({
  hostname: hostname.nullish(),
  workflow: workflow.nullish(),
  tags: tags.optional(),
  notes: z
    .string()
    .max(10_000)
    .refine((text) => !LINE_BREAKS_TOO.test(text), 'must not contain control characters')
    .nullish(),
});

const stateChange = z.object({
  state: z.string().max(64),
  comment: plain(1000).nullish(),
  force: z.boolean().default(false),
});

const bulkStateChange = stateChange.extend({ node_ids: z.array(plain(128)).min(1).max(1000) });

const tagInput = z.object({ tag });

export type NodeInput = z.output<typeof nodeInput>;
export type NodePatch = z.output<typeof nodePatch>;
export type StateChange = z.output<typeof stateChange>;

export const readNodeInput = (body: unknown) => read(nodeInput, body);
export const readNodePatch = (body: unknown) => read(nodePatch, body);
export const readStateChange = (body: unknown) => read(stateChange, body);
export const readBulkStateChange = (body: unknown) => read(bulkStateChange, body);
export const readTag = (body: unknown) => read(tagInput, body).tag;

/** All that is wrong, each with its field. */
export function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body, IN_OUR_WORDS);
  if (parsed.success) return parsed.data;
  const violations = parsed.error.issues.map(({ path, message }) => ({
    subject: path.join('.') || 'body',
    description: message,
  }));
  throw new Fault('invalid_argument', {
    reason: 'INVALID_FIELD',
    message: violations.map(({ subject, description }) => `${subject}: ${description}`).join('; '),
    violations,
  });
}

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

/** The fields of a body that describe the hardware. */
type NamedFacts = Partial<
  Record<
    'hostname' | 'vendor' | 'model' | 'serial_number' | 'system_uuid' | 'arch' | 'boot_mode' | 'ip_address',
    string | null | undefined
  >
>;

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
