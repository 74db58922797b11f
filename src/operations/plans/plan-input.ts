/**
 * Checks a plan that a user wrote. Plan files and the API have one schema: the API's message is checked in its JSON form, which
 * is also the form of a plan file (docs/api-v1.md).
 */
import { z } from 'zod';
import { invalidField } from '../../domain/error/fault.ts';
import { IMAGE_RULE } from '../../domain/machine/machine-input.ts';
import { CLUSTER_RULE } from '../../domain/machine/spec/spec-check.ts';
import { PLAN_ID_PROBLEM, PLAN_ID_RULE, type Plan, type PlanStep } from '../../domain/operation/plan.ts';
import { STEP_KINDS } from '../../steps/registry.ts';
import { IN_OUR_WORDS } from '../problem-text.ts';

/** The field names of a step's kind, without the kinds that only the server uses. */
export const PLAN_STEP_KINDS = [
  'ssh',
  'reboot',
  'netboot',
  'repave',
  'join',
  'verify',
  'net',
  'rma',
  'cluster',
  'inspect',
  'verify_hardware',
  'media',
  'bios_settings',
  'boot_order',
  'firmware_update',
  'raid',
  'erase_disks',
  'burn_in',
] as const;

/** A field has underscores where the name of the kind has dashes. */
const kindOfField = (field: string) => field.replaceAll('_', '-');

const MAX_STEPS = 100;
/** What a machine has to boot its installer. */
const BOOT_SECONDS = 300;
const WEEK_SECONDS = 7 * 24 * 60 * 60;

/** Control characters, line separators and lone surrogates, which a title may not have. */
const CONTROL = /[\p{Cc}\p{Cs}\u2028\u2029]/u;
/** What PostgreSQL can't store; a command or a file may have every other character. */
const UNSTORABLE = /[\0\p{Cs}]/u;

/** The rules of the API for these fields apply in a plan too. */
const NAME_FIELDS: Readonly<Record<string, { readonly rule: RegExp; readonly problem: string }>> = {
  image: {
    rule: IMAGE_RULE,
    problem: 'must be at most 255 letters, digits, ".", "_", ":", "/", "@" or "-"',
  },
  cluster_ref: { rule: CLUSTER_RULE, problem: "must be a cluster's name" },
};

interface ConfigProblem {
  readonly field: string;
  readonly message: string;
}

/** Problems of a configuration that the schema of its kind accepts: unknown fields, and texts that break a rule. */
function problemsOf(written: unknown, config: Readonly<Record<string, unknown>>): ConfigProblem[] {
  // The parsed configuration has every field of the kind, with its default where the plan has none.
  const unknown = Object.keys(written as object).filter((field) => !Object.hasOwn(config, field));
  const known = Object.keys(config).join(', ');
  return [
    ...unknown.map((field) => ({ field, message: `is not known; there are ${known}` })),
    ...Object.entries(config).flatMap(([field, value]) => {
      // A start of a run fills in empty fields.
      if (typeof value !== 'string' || value === '') return [];
      if (UNSTORABLE.test(value)) return [{ field, message: 'must not contain NUL' }];
      const { rule, problem } = NAME_FIELDS[field] ?? {};
      return rule && problem && !rule.test(value) ? [{ field, message: problem }] : [];
    }),
  ];
}

const stepSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62})$/, 'must be 1 to 63 letters, digits, ".", "_" or "-"'),
    timeout_seconds: z
      .int()
      .min(0, 'must be at least 1, or 0 for the default')
      .max(WEEK_SECONDS, 'must be at most a week')
      .optional(),
    max_retries: z.int().min(0, 'must not be negative').max(100, 'must be at most 100').optional(),
    ...Object.fromEntries(PLAN_STEP_KINDS.map((kind) => [kind, z.unknown().optional()])),
  })
  .transform((written, context): PlanStep => {
    const kinds = PLAN_STEP_KINDS.filter((kind) => (written as Record<string, unknown>)[kind] !== undefined);
    const [kind] = kinds;
    if (kind === undefined || kinds.length > 1) {
      const found = kinds.length > 1 ? `, not ${kinds.join(' and ')}` : '';
      context.addIssue({
        code: 'custom',
        message: `needs exactly one of ${PLAN_STEP_KINDS.join(', ')}${found}`,
      });
      return z.NEVER;
    }
    const writtenConfig = (written as Record<string, unknown>)[kind] ?? {};
    const config = STEP_KINDS.get(kindOfField(kind))?.config.safeParse(writtenConfig, IN_OUR_WORDS);
    if (!config?.success) {
      for (const issue of config?.error.issues ?? []) {
        context.addIssue({ code: 'custom', message: issue.message, path: [kind, ...issue.path] });
      }
      return z.NEVER;
    }
    const checked = config.data as Record<string, unknown>;
    for (const { field, message } of problemsOf(writtenConfig, checked)) {
      context.addIssue({ code: 'custom', message, path: [kind, field] });
    }
    const { seconds } = checked;
    if (
      kind === 'burn_in' &&
      typeof seconds === 'number' &&
      (written.timeout_seconds ?? 0) < seconds + BOOT_SECONDS
    )
      context.addIssue({
        code: 'custom',
        message: `must be at least ${seconds + BOOT_SECONDS}: the test takes ${seconds}, and the machine boots before`,
        path: ['timeout_seconds'],
      });
    return {
      name: written.name,
      kind: kindOfField(kind),
      config: checked,
      timeoutSeconds: written.timeout_seconds || null,
      maxRetries: written.max_retries ?? null,
    };
  });

export const planSchema = z
  .strictObject({
    plan_id: z.string().regex(PLAN_ID_RULE, PLAN_ID_PROBLEM),
    display_name: z
      .string()
      .max(200, 'must be at most 200 characters')
      .refine((text) => !CONTROL.test(text), 'must not contain control characters')
      .default(''),
    default_for: z.literal('', 'is set by the server').optional(),
    steps: z.array(stepSchema).min(1, 'must not be empty').max(MAX_STEPS, `must be at most ${MAX_STEPS}`),
  })
  .transform((written, context): Plan => {
    written.steps.forEach((step, index) => {
      const first = written.steps.findIndex((other) => other.name === step.name);
      if (first !== index) {
        context.addIssue({
          code: 'custom',
          message: `${step.name} is the name of steps[${first}] too`,
          path: ['steps', index, 'name'],
        });
      }
    });
    return {
      planId: written.plan_id,
      displayName: written.display_name || written.plan_id,
      steps: written.steps,
    };
  });

/** steps[1].netboot.mode */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}

/** Throws a Fault that names the field. */
export function checkPlan(written: unknown): Plan {
  const parsed = planSchema.safeParse(written, IN_OUR_WORDS);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalidField(
    `plan${issue && issue.path.length > 0 ? `.${fieldPath(issue.path)}` : ''}`,
    issue?.message ?? 'is not valid',
  );
}
