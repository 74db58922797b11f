/** The fields of what a BMC can do: which action has which, their values, and the command line of them. */
import {
  BOOT_SOURCE_NAMES,
  BOOT_SOURCES,
  bootPathProblem,
  type WantedBootSource,
} from '../../../../src/domain/hardware/boot-override.ts';
import { limitWatts } from '../../../../src/domain/hardware/power-reading.ts';
import { POWER_REQUEST_NAMES, POWER_REQUESTS } from '../../../../src/domain/hardware/power-request.ts';
import type { BmcAction } from '../../../../src/domain/machine/bmc-action.ts';
import type { MachineAction } from '../../../../src/domain/machine/machine-action.ts';
import { capitalize } from '../../capitalize.ts';
import type { Choice, Values } from './action-form.ts';

const FIELD_NAMES = [
  'powerRequest',
  'watts',
  'duration',
  'off',
  'source',
  'path',
  'firmware',
  'continuous',
  'fingerprint',
  'why',
] as const;
export type BmcField = (typeof FIELD_NAMES)[number];

export const isBmcField = (field: string): field is BmcField =>
  (FIELD_NAMES as readonly string[]).includes(field);

export const BMC_FIELDS = {
  power: ['powerRequest', 'why'],
  power_cap: ['watts', 'why'],
  locate: ['duration', 'off', 'why'],
  boot_override: ['source', 'path', 'firmware', 'continuous', 'why'],
  bmc_reset: ['why'],
  clear_log: ['why'],
  trust_certificate: ['fingerprint', 'why'],
  rotate_password: ['why'],
} as const satisfies Record<BmcAction, readonly BmcField[]>;

export const NO_BMC_VALUES = Object.fromEntries(FIELD_NAMES.map((field) => [field, ''])) as Record<
  BmcField,
  ''
>;

export const OPTIONAL_BMC_FIELDS: readonly BmcField[] = [
  'duration',
  'off',
  'path',
  'firmware',
  'continuous',
  'why',
];

export const BMC_REQUESTS: Readonly<Record<BmcField, string>> = {
  powerRequest: 'Select what to do.',
  watts: 'Enter a number of watts, or off.',
  duration: '',
  off: '',
  source: 'Select what it boots from.',
  path: '',
  firmware: '',
  continuous: '',
  fingerprint: 'Wait until the BMC has shown its certificate.',
  why: '',
};

export function bmcChoices(field: BmcField): Choice[] {
  const choice = (value: string, hint: string): Choice => ({ value, hint, disabledBecause: '' });
  if (field === 'powerRequest')
    return POWER_REQUEST_NAMES.map((powerRequest) =>
      choice(powerRequest, capitalize(POWER_REQUESTS[powerRequest].description)),
    );
  if (field === 'source')
    return BOOT_SOURCE_NAMES.map((source) => choice(source, capitalize(BOOT_SOURCES[source])));
  if (field === 'firmware') return ['UEFI', 'Legacy'].map((mode) => choice(mode, ''));
  return [];
}

/** Null: no cap. Undefined: it is neither watts nor off. */
export function wattsOf(text: string): number | null | undefined {
  if (/^off$/i.test(text.trim())) return null;
  const [, digits] = /^(\d{1,6})\s*W?$/i.exec(text.trim()) ?? [];
  return digits === undefined ? undefined : (limitWatts(Number(digits)) ?? undefined);
}

/** What is wrong with the values; empty: nothing. */
export function bmcFault(action: MachineAction, { watts, source, path }: Values): string {
  if (action === 'power_cap' && wattsOf(watts) === undefined)
    return 'Enter a number of watts from 1 to 100000, or off.';
  if (action !== 'boot_override') return '';
  const problem = bootPathProblem({ source: source as WantedBootSource, path: path.trim() });
  return problem === null ? '' : `The path ${problem}.`;
}

/** Whether what runs on the machine ends, or may. */
export function interrupts(action: MachineAction, { powerRequest }: Values): boolean {
  return action === 'power' && powerRequest !== '' && powerRequest !== 'on';
}

/** The words between the noun and the machine. */
export function bmcVerbs(action: MachineAction, { powerRequest }: Values): string[] {
  return action === 'power' ? [powerRequest || '<verb>'] : [];
}

export const BMC_OPTIONS = {
  powerRequest: () => [],
  watts: (value) => [value],
  duration: (value) => ['--for', value],
  off: () => ['--off'],
  source: (value) => [value],
  path: (value) => ['--path', value],
  firmware: (value) => ['--mode', value],
  continuous: () => ['--continuous'],
  fingerprint: (value) => ['--fingerprint', value],
  why: (value) => ['--reason', value],
} as const satisfies Record<BmcField, (value: string) => string[]>;

export const BMC_PLACEHOLDERS: Partial<Record<BmcField, string>> = {
  watts: '<watts>',
  source: '<source>',
};
