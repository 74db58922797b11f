/** The form of each action: its fields, their choices, what is still missing, and the equivalent CLI command. */

import { Fault } from '../../../../src/domain/error/fault.ts';
import {
  type ActionMachine,
  flagsSet,
  flagsToSet,
  installStatesByHand,
  MACHINE_ACTIONS,
  type MachineAction,
} from '../../../../src/domain/machine/machine-action.ts';
import { checkImageRef } from '../../../../src/domain/machine/machine-input.ts';
import { DECOMMISSION_MODE_NAMES, DECOMMISSION_MODES } from '../../../../src/domain/workflow/stage.ts';
import { serviceStatesByHand, whyNotWorkflow } from '../../../../src/domain/workflow/workflow-gate.ts';
import { shellWord } from '../../shell-word.ts';
import {
  BMC_FIELDS,
  BMC_OPTIONS,
  BMC_PLACEHOLDERS,
  BMC_REQUESTS,
  type BmcField,
  bmcChoices,
  bmcFault,
  bmcVerbs,
  interrupts,
  isBmcField,
  NO_BMC_VALUES,
  OPTIONAL_BMC_FIELDS,
} from './bmc-form.ts';

export type FieldName =
  | 'image'
  | 'pool'
  | 'mode'
  | 'service'
  | 'flag'
  | 'workflow'
  | 'state'
  | 'force'
  | 'overwrite'
  | 'macs'
  | 'serial'
  | 'reason'
  | 'comment'
  | BmcField;

export type Values = Readonly<Record<FieldName, string>>;

export const FIELDS_OF = {
  reboot: [],
  reimage: ['image'],
  enter_maintenance: [],
  exit_maintenance: [],
  onboard: ['pool'],
  drain: [],
  decommission: ['mode'],
  remove: [],
  erase: ['overwrite'],
  migrate: ['macs', 'serial', 'image'],
  set_service: ['service', 'force', 'reason'],
  approve_node: ['workflow', 'comment'],
  set_install: ['state', 'force', 'comment'],
  clear: ['reason'],
  flag: ['flag', 'reason'],
  unflag: ['flag', 'reason'],
  ...BMC_FIELDS,
} as const satisfies Record<MachineAction, readonly FieldName[]>;

const EMPTY: Values = {
  image: '',
  pool: '',
  mode: '',
  service: '',
  flag: '',
  workflow: '',
  state: '',
  force: '',
  overwrite: '',
  macs: '',
  serial: '',
  reason: '',
  comment: '',
  ...NO_BMC_VALUES,
};

/** The server has a default for these, or does not need them. */
const OPTIONAL: readonly FieldName[] = [
  'image',
  'workflow',
  'force',
  'overwrite',
  'serial',
  'comment',
  ...OPTIONAL_BMC_FIELDS,
];

const REQUESTS: Readonly<Record<FieldName, string>> = {
  image: 'Enter an image.',
  pool: 'Select a pool.',
  mode: 'Select a mode.',
  service: 'Select a service state.',
  flag: 'Select a flag.',
  workflow: 'Select a workflow.',
  state: 'Select an install state.',
  force: '',
  overwrite: '',
  macs: 'Enter the MAC addresses of the replacement.',
  serial: 'Enter a serial number.',
  reason: 'Enter a reason.',
  comment: 'Enter a comment.',
  ...BMC_REQUESTS,
};

export interface Choice {
  readonly value: string;
  readonly hint: string;
  /** Empty: it is available. */
  readonly disabledBecause: string;
}

export function choicesOf(action: MachineAction, field: FieldName, machine: ActionMachine): Choice[] {
  const free = (value: string, hint: string): Choice => ({ value, hint, disabledBecause: '' });
  switch (field) {
    case 'mode':
      return DECOMMISSION_MODE_NAMES.map((mode) => ({
        value: mode,
        hint: DECOMMISSION_MODES[mode].purpose,
        disabledBecause: whyNotWorkflow(mode, machine) ?? '',
      }));
    case 'service':
      return serviceStatesByHand(machine.service).map(({ to, when }) => free(to, when));
    case 'state':
      return machine.install === null
        ? []
        : installStatesByHand(machine.install).map(({ to, when }) => free(to, when));
    case 'flag':
      return (action === 'flag' ? flagsToSet(machine) : flagsSet(machine)).map((flag) => free(flag, ''));
    default:
      return isBmcField(field) ? bmcChoices(field) : [];
  }
}

/** The initial values: those of the explanation, or the only available choice. */
export function firstValues(
  action: MachineAction,
  machine: ActionMachine,
  known: Readonly<Record<string, string>>,
): Values {
  const fields: readonly FieldName[] = FIELDS_OF[action];
  const values: Record<FieldName, string> = { ...EMPTY };
  for (const field of fields) {
    const choices = choicesOf(action, field, machine).filter(({ disabledBecause }) => disabledBecause === '');
    values[field] = known[field] ?? (choices.length === 1 ? (choices[0]?.value ?? '') : '');
  }
  return values;
}

/** What is still missing or wrong; empty when the form can be submitted. */
export function missing(action: MachineAction, values: Values, machineId: string, typedName: string): string {
  const fields: readonly FieldName[] = FIELDS_OF[action];
  const field = fields.find((name) => values[name].trim() === '' && !OPTIONAL.includes(name));
  if (field) return REQUESTS[field];
  const fault = imageFault(values.image) || bmcFault(action, values);
  if (fault) return fault;
  if (asksForName(action, values) !== '' && typedName !== machineId) return `Type ${machineId} to confirm.`;
  return '';
}

/** What is lost or interrupted, where the operator types the name of the machine; empty: nothing is. */
export function asksForName(action: MachineAction, values: Values): string {
  if (MACHINE_ACTIONS[action].confirm === 'name') return 'This cannot be undone.';
  return interrupts(action, values) ? 'This interrupts what runs on the machine.' : '';
}

export function imageFault(image: string): string {
  try {
    checkImageRef(image.trim());
    return '';
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return `The image ${error.violations.map(({ description }) => description).join('; ')}.`;
  }
}

/** Separated by commas or spaces. */
export function macsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((mac) => mac !== '');
}

/** The CLI arguments after the machine's id. */
const OPTIONS = {
  image: (value) => ['--image', value],
  pool: (value) => ['--pool', value],
  mode: (value) => ['--mode', value],
  service: (value) => [value],
  flag: (value) => [value.toLowerCase()],
  workflow: (value) => ['--workflow', value],
  state: (value) => [value],
  force: () => ['--force'],
  overwrite: () => ['--full-overwrite'],
  macs: (value) => macsOf(value).flatMap((mac) => ['--mac', mac]),
  serial: (value) => ['--serial', value],
  reason: (value) => ['--reason', value],
  comment: (value) => ['--comment', value],
  ...BMC_OPTIONS,
} as const satisfies Record<FieldName, (value: string) => string[]>;

const PLACEHOLDERS: Partial<Record<FieldName, string>> = {
  pool: '<pool>',
  macs: '<mac>',
  mode: '<mode>',
  service: '<state>',
  state: '<state>',
  flag: '<flag>',
  reason: '…',
  ...BMC_PLACEHOLDERS,
};

export function commandOf(action: MachineAction, machineId: string, values: Values): string {
  const fields = typedFields(action, values);
  const options = fields.flatMap((field) => {
    const value = values[field].trim();
    const placeholder = PLACEHOLDERS[field];
    if (value !== '') return OPTIONS[field](value).map(shellWord);
    return placeholder === undefined ? [] : OPTIONS[field](placeholder);
  });
  const verbs = [MACHINE_ACTIONS[action].verb, ...bmcVerbs(action, values)];
  return ['ingot', ...verbs, machineId, ...options].join(' ');
}

/** Where the indicator goes off, the time is not said. */
function typedFields(action: MachineAction, values: Values): readonly FieldName[] {
  const fields: readonly FieldName[] = FIELDS_OF[action];
  return action === 'locate' && values.off !== '' ? fields.filter((field) => field !== 'duration') : fields;
}
