/**
 * How a machine is placed, commissioned and booted in its MAAS: what the site's configuration says for all of its
 * machines, and what a machine's own labels say instead. All names are MAAS' own.
 */
import { z } from 'zod';
import type { Labels } from '../../domain/machine/machine.ts';
import type { MaasCommissioning } from './client/maas-control.ts';

/** MAAS' own rules: a value that it would refuse is refused where it is configured. */
const RULES = {
  /** MODEL_NAME_VALIDATOR of MAAS. */
  name: {
    rule: /^\w[ \w-]{0,254}$/,
    words: 'must be a name as MAAS has them: letters, digits, "_", "-" and spaces',
  },
  domain: {
    rule: /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i,
    words: 'must be a DNS name',
  },
  tag: { rule: /^[A-Za-z0-9_-]{1,256}$/, words: 'must be made of letters, digits, "_" and "-"' },
  script: { rule: /^[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$/, words: 'must be the name or the tag of a script' },
  kernel: { rule: /^(hwe|ga)-[A-Za-z0-9.-]{1,60}$/, words: 'must be like hwe-24.04 or ga-24.04' },
} as const;
type Rule = keyof typeof RULES;

const matching = (rule: Rule) => z.string().regex(RULES[rule].rule, RULES[rule].words);
const listOf = (rule: Rule) => z.array(matching(rule)).max(64);

export const FAILED_TESTING = ['stop', 'override'] as const;

/** Where machines are put that this provider adds or finds. What is not named is left to MAAS. */
export const placement = z.strictObject({
  pool: matching('name').optional(),
  zone: matching('name').optional(),
  domain: matching('domain').optional(),
  tags: listOf('tag').default([]),
});

export const commissioning = z.strictObject({
  enable_ssh: z.boolean().default(false),
  skip_bmc_config: z.boolean().default(false),
  skip_networking: z.boolean().default(false),
  skip_storage: z.boolean().default(false),
  /** Beside those that MAAS always runs; without them, all of the site's own. */
  scripts: listOf('script').default([]),
  /** Without them, those that MAAS tags "commissioning"; ["none"] runs none. */
  testing_scripts: listOf('script').default([]),
  /** What becomes of a machine whose tests failed. */
  failed_testing: z.enum(FAILED_TESTING).default('stop'),
});

export const kernel = z.strictObject({
  /** The oldest that the machine may ever boot. */
  minimum: matching('kernel').optional(),
  /** The one that is deployed. */
  deploy: matching('kernel').optional(),
});

export interface MaasOptionsConfiguration {
  readonly placement: z.output<typeof placement>;
  readonly commissioning: z.output<typeof commissioning>;
  readonly kernel: z.output<typeof kernel>;
}

/** Null: whatever MAAS has. */
export interface MaasPlace {
  readonly pool: string | null;
  readonly zone: string | null;
  readonly domain: string | null;
  /** Which it gets besides those that it has. */
  readonly tags: readonly string[];
}

export interface MaasMachineOptions {
  readonly place: MaasPlace;
  readonly commissioning: MaasCommissioning;
  readonly failedTesting: (typeof FAILED_TESTING)[number];
  readonly kernel: { readonly minimum: string | null; readonly deploy: string | null };
}

const LABEL_PREFIX = 'maas/';
const flag = z.enum(['true', 'false'], 'must be true or false');
const list = (rule: Rule) =>
  z.string().refine((text) => itemsOf(text).every((item) => RULES[rule].rule.test(item)), {
    error: `${RULES[rule].words}, separated by commas`,
  });

/** Every label that this provider reads. */
export const MAAS_LABELS = {
  'maas/pool': matching('name'),
  'maas/zone': matching('name'),
  'maas/domain': matching('domain'),
  'maas/tags': list('tag'),
  'maas/enable-ssh': flag,
  'maas/skip-bmc-config': flag,
  'maas/skip-networking': flag,
  'maas/skip-storage': flag,
  'maas/commissioning-scripts': list('script'),
  'maas/testing-scripts': list('script'),
  'maas/failed-testing': z.enum(FAILED_TESTING, `must be ${FAILED_TESTING.join(' or ')}`),
  'maas/min-hwe-kernel': matching('kernel'),
  'maas/hwe-kernel': matching('kernel'),
} as const satisfies Record<`maas/${string}`, z.ZodType<string>>;
type MaasLabel = keyof typeof MAAS_LABELS;

export function isMaasLabel(name: string): boolean {
  return name.startsWith(LABEL_PREFIX);
}

export function checkMaasLabels(labels: Labels): { label: string; problem: string } | null {
  for (const [label, value] of Object.entries(labels)) {
    if (!isMaasLabel(label)) continue;
    if (!Object.hasOwn(MAAS_LABELS, label)) {
      const known = Object.keys(MAAS_LABELS).join(', ');
      return { label, problem: `is none that a MAAS machine has; there are ${known}` };
    }
    const parsed = MAAS_LABELS[label as MaasLabel].safeParse(value);
    if (!parsed.success) return { label, problem: parsed.error.issues[0]?.message ?? 'is wrong' };
  }
  return null;
}

export function resolveOptions(configuration: MaasOptionsConfiguration, labels: Labels): MaasMachineOptions {
  const { placement: place, commissioning: run, kernel: kernels } = configuration;
  const labelled = (label: MaasLabel): string | null =>
    Object.hasOwn(labels, label) ? (labels[label] ?? null) : null;
  const items = (label: MaasLabel, otherwise: readonly string[]) => {
    const text = labelled(label);
    return text === null ? otherwise : itemsOf(text);
  };
  const isSet = (label: MaasLabel, otherwise: boolean) => {
    const text = labelled(label);
    return text === null ? otherwise : text === 'true';
  };
  return {
    place: {
      pool: labelled('maas/pool') ?? place.pool ?? null,
      zone: labelled('maas/zone') ?? place.zone ?? null,
      domain: labelled('maas/domain') ?? place.domain ?? null,
      tags: [...new Set(items('maas/tags', place.tags))],
    },
    commissioning: {
      enableSsh: isSet('maas/enable-ssh', run.enable_ssh),
      skipBmcConfig: isSet('maas/skip-bmc-config', run.skip_bmc_config),
      skipNetworking: isSet('maas/skip-networking', run.skip_networking),
      skipStorage: isSet('maas/skip-storage', run.skip_storage),
      commissioningScripts: items('maas/commissioning-scripts', run.scripts),
      testingScripts: items('maas/testing-scripts', run.testing_scripts),
    },
    failedTesting:
      labelled('maas/failed-testing') === null
        ? run.failed_testing
        : labelled('maas/failed-testing') === 'override'
          ? 'override'
          : 'stop',
    kernel: {
      minimum: labelled('maas/min-hwe-kernel') ?? kernels.minimum ?? null,
      deploy: labelled('maas/hwe-kernel') ?? kernels.deploy ?? null,
    },
  };
}

function itemsOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
