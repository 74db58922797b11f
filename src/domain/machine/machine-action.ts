/**
 * What operators can do to a machine: the role that it needs, how it is confirmed, and why it is not possible right now.
 * Explanations name these actions, and the console has a button for each.
 */
import type { Role } from '../actor.ts';
import { isTrue } from '../condition/condition.ts';
import { type InstallOwner, type InstallState, installLifecycle } from '../install/install-state.ts';
import { type GatedMachine, whyNot } from '../operation/gate.ts';
import { HARDWARE_OPERATIONS, whyNotHardwareOperation } from '../operation/hardware-operation.ts';
import { PHASE_GATED_TYPES, type PhaseGatedType } from '../operation/phase-gated-type.ts';
import { DECOMMISSION_MODE_NAMES } from '../workflow/stage.ts';
import { whyNotSetService, whyNotWorkflow } from '../workflow/workflow-gate.ts';
import { BMC_ACTIONS, type BmcAction } from './bmc-action.ts';

export type MachineAction =
  | 'reboot'
  | 'reimage'
  | 'enter_maintenance'
  | 'exit_maintenance'
  | 'onboard'
  | 'decommission'
  | 'drain'
  | 'remove'
  | 'erase'
  | 'migrate'
  | 'set_service'
  | 'flag'
  | 'unflag'
  | 'clear'
  | 'approve_node'
  | 'set_install'
  | BmcAction;

export interface ActionMachine extends GatedMachine {
  readonly install: InstallState | null;
  /** Why nothing can be asked of its BMC, in a sentence; null: something can. */
  readonly whyNoBmc: string | null;
}

export interface MachineActionInfo {
  readonly title: string;
  readonly effect: string;
  /** The CLI verb. */
  readonly verb: string;
  readonly role: Role;
  /** What it calls, as the server names it: `package.Service/Method`, or `METHOD /path`. */
  readonly method: string;
  /** `once`: the operator confirms. `name`: and types the machine's name, because data or the identity is lost. */
  readonly confirm: 'once' | 'name';
  /** Null when it is possible. */
  readonly whyNot: (machine: ActionMachine) => string | null;
}

const MACHINES = 'baremetal.v2.MachineService/';
const ADMIN = 'baremetal.admin.v1.AdminService/';

const START_METHODS = {
  REBOOT: `${MACHINES}RebootMachine`,
  REIMAGE: `${MACHINES}ReimageMachine`,
  ENTER_MAINTENANCE: `${MACHINES}EnterMaintenance`,
  EXIT_MAINTENANCE: `${MACHINES}ExitMaintenance`,
} as const satisfies Record<PhaseGatedType, string>;

const operation = (type: PhaseGatedType) =>
  ({
    effect: PHASE_GATED_TYPES[type].description,
    verb: PHASE_GATED_TYPES[type].verb,
    role: 'operator',
    method: START_METHODS[type],
    confirm: PHASE_GATED_TYPES[type].destructive ? 'name' : 'once',
    whyNot: (machine) => whyNot(type, machine),
  }) as const satisfies Omit<MachineActionInfo, 'title'>;

export const MACHINE_ACTIONS = {
  reboot: { title: 'Reboot', ...operation('REBOOT') },
  reimage: { title: 'Reimage', ...operation('REIMAGE') },
  enter_maintenance: { title: 'Enter maintenance', ...operation('ENTER_MAINTENANCE') },
  exit_maintenance: { title: 'Exit maintenance', ...operation('EXIT_MAINTENANCE') },
  onboard: {
    title: 'Onboard',
    effect: 'Take the machine from bare metal into service, through its provider',
    verb: 'onboard',
    role: 'operator',
    method: `${ADMIN}OnboardMachine`,
    confirm: 'name',
    whyNot: (machine) => whyNotWorkflow('ONBOARD', machine),
  },
  drain: {
    title: 'Drain',
    effect: 'Take the machine out of scheduling; it is retired after that, and can come back',
    verb: 'drain',
    role: 'operator',
    method: `${ADMIN}DrainMachine`,
    confirm: 'once',
    whyNot: (machine) => whyNotWorkflow('DRAIN', machine),
  },
  decommission: {
    title: 'Decommission',
    effect: 'Take the machine out of service, in one of four modes',
    verb: 'decommission',
    role: 'operator',
    method: `${ADMIN}DecommissionMachine`,
    confirm: 'name',
    whyNot: (machine) => {
      const reasons = DECOMMISSION_MODE_NAMES.map((mode) => whyNotWorkflow(mode, machine));
      return reasons.includes(null) ? null : (reasons[0] ?? null);
    },
  },
  remove: {
    title: 'Remove',
    effect: 'Take a retired machine out of the inventory for good; its identity never comes back',
    verb: 'remove',
    role: 'operator',
    method: `${ADMIN}RemoveMachine`,
    confirm: 'name',
    whyNot: (machine) => whyNotWorkflow('REMOVE', machine),
  },
  erase: {
    title: 'Erase',
    effect: HARDWARE_OPERATIONS.ERASE.description,
    verb: 'erase',
    role: 'admin',
    method: `${ADMIN}EraseMachine`,
    confirm: 'name',
    whyNot: (machine) => whyNotHardwareOperation('ERASE', machine),
  },
  migrate: {
    title: 'Migrate',
    effect: HARDWARE_OPERATIONS.MIGRATE.description,
    verb: 'migrate',
    role: 'admin',
    method: `${ADMIN}MigrateMachine`,
    confirm: 'once',
    whyNot: (machine) => whyNotHardwareOperation('MIGRATE', machine),
  },
  set_service: {
    title: 'Set service state',
    effect: 'Make a transition of the service state that operators may make',
    verb: 'service',
    role: 'operator',
    method: `${ADMIN}SetServiceState`,
    confirm: 'once',
    whyNot: whyNotSetService,
  },
  approve_node: {
    title: 'Approve node',
    effect: 'Allow the node to be installed, also again: its disk is overwritten at its next boot',
    verb: 'node approve',
    role: 'operator',
    method: 'POST /api/v1/nodes/bulk/approve',
    confirm: 'once',
    whyNot: ({ machineId, install }) =>
      install === 'discovered' || install === 'pending'
        ? null
        : `${machineId} does not wait for approval: ${install === null ? 'it never booted from the network' : `its install state is ${install}`}.`,
  },
  set_install: {
    title: 'Set install state',
    effect: 'Make a transition of the install state that admins may make',
    verb: 'node state',
    role: 'operator',
    method: 'PATCH /api/v1/nodes/:id/state',
    confirm: 'once',
    whyNot: ({ machineId, install }) => {
      if (install === null) return `${machineId} never booted from the network: it has no install state.`;
      return installStatesByHand(install).length > 0 ? null : `${machineId} is ${install}, which is final.`;
    },
  },
  clear: {
    title: 'Clear NeedsIntervention',
    effect: 'Confirm that the machine was checked and is healthy',
    verb: 'clear',
    role: 'admin',
    method: `${ADMIN}ClearNeedsIntervention`,
    confirm: 'once',
    whyNot: ({ machineId, conditions }) =>
      isTrue(conditions, 'NeedsIntervention') ? null : `${machineId} does not need intervention.`,
  },
  flag: {
    title: 'Flag RMA or Retired',
    effect: 'Block the machine: it takes no new operations',
    verb: 'flag',
    role: 'admin',
    method: `${ADMIN}FlagMachine`,
    confirm: 'once',
    whyNot: (machine) =>
      flagsToSet(machine).length > 0 ? null : `${machine.machineId} has both flags already.`,
  },
  unflag: {
    title: 'Remove a flag',
    effect: 'Let the machine take operations again',
    verb: 'unflag',
    role: 'admin',
    method: `${ADMIN}UnflagMachine`,
    confirm: 'once',
    whyNot: (machine) => (flagsSet(machine).length > 0 ? null : `${machine.machineId} has no flag.`),
  },
  ...BMC_ACTIONS,
} as const satisfies Record<MachineAction, MachineActionInfo>;

export const MACHINE_ACTION_NAMES = Object.keys(MACHINE_ACTIONS) as MachineAction[];

export function isMachineAction(text: string): text is MachineAction {
  return Object.hasOwn(MACHINE_ACTIONS, text);
}

export const FLAGS = ['RMA', 'Retired'] as const;
export type Flag = (typeof FLAGS)[number];

export function flagsSet({ conditions }: Pick<GatedMachine, 'conditions'>): Flag[] {
  return FLAGS.filter((flag) => isTrue(conditions, flag));
}

export function flagsToSet({ conditions }: Pick<GatedMachine, 'conditions'>): Flag[] {
  return FLAGS.filter((flag) => !isTrue(conditions, flag));
}

/** The install states that an admin may set from this one, each with the case that it is for. */
export function installStatesByHand(install: InstallState): { to: InstallState; when: string }[] {
  return installLifecycle.transitions
    .filter(({ from, owners }) => {
      const by: readonly InstallOwner[] = owners;
      return from === install && by.includes('admin');
    })
    .map(({ to, when }) => ({ to, when }));
}
