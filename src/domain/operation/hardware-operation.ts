/**
 * Operations on the hardware of a machine that is a node: the phase and the install states in which each may start, and
 * what to do first where it can't. The server's gate and the console's buttons both read this table (docs/nodes.md).
 */
import type { InstallState } from '../install/install-state.ts';
import type { Phase } from '../machine/phase.ts';
import { blockedBecause, busyBecause, type GatedMachine } from './gate.ts';

export type HardwareOperationType = 'ERASE' | 'MIGRATE';

interface HardwareOperationInfo {
  readonly description: string;
  readonly phases: readonly Phase[];
  readonly installs: readonly InstallState[];
  /** What to do on a machine in another install state. */
  readonly first: string;
}

export const HARDWARE_OPERATIONS = {
  ERASE: {
    description: 'Erase every disk of the machine, then retire it; nothing brings its data back',
    phases: ['MAINTENANCE'],
    installs: ['active', 'deprovisioning'],
    first: 'Make it active first, or retire it without an erasure.',
  },
  MIGRATE: {
    description: 'Move the identity of the machine to replacement hardware; its history stays',
    phases: ['MAINTENANCE'],
    installs: ['active', 'migrating'],
    first: 'Make it active first.',
  },
} as const satisfies Record<HardwareOperationType, HardwareOperationInfo>;

export const HARDWARE_OPERATION_NAMES = Object.keys(HARDWARE_OPERATIONS) as HardwareOperationType[];

export function isHardwareOperation(type: string): type is HardwareOperationType {
  return Object.hasOwn(HARDWARE_OPERATIONS, type);
}

interface NodeMachine extends GatedMachine {
  readonly install: InstallState | null;
}

/** What is wrong with the machine's install state; null when the operation may start in it. */
export function wrongInstall(
  type: HardwareOperationType,
  { machineId, install }: Pick<NodeMachine, 'machineId' | 'install'>,
): string | null {
  const info: HardwareOperationInfo = HARDWARE_OPERATIONS[type];
  if (install !== null && info.installs.includes(install)) return null;
  const states = info.installs.join(' or ');
  if (install === null)
    return `${type} needs install state ${states}, and ${machineId} has none: it never booted from the network.`;
  return `${type} needs install state ${states}, and ${machineId} is ${install}. ${info.first}`;
}

/** Null when the operation may start. Checks in the server's order. */
export function whyNotHardwareOperation(type: HardwareOperationType, machine: NodeMachine): string | null {
  const { machineId, phase } = machine;
  const blocked = blockedBecause(machine);
  if (blocked) return blocked;
  const allowed: readonly Phase[] = HARDWARE_OPERATIONS[type].phases;
  if (!allowed.includes(phase))
    return `${type} needs ${allowed.join(' or ')}, and ${machineId} is ${phase}. Enter maintenance first.`;
  return wrongInstall(type, machine) ?? busyBecause(machine);
}
