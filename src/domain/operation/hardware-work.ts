/**
 * Work on the hardware of a machine that is a node: in which phase and install states it starts, and what to do first where
 * it can't. The server starts by it, and the console shows by it which buttons can be pressed.
 */

import type { InstallState } from '../install/install-state.ts';
import type { Phase } from '../machine/phase.ts';
import { blockedBecause, busyBecause, type GatedMachine } from './gate.ts';
import type { HardwareWorkType } from './work-type.ts';

interface HardwareWorkInfo {
  readonly description: string;
  readonly phase: Phase;
  readonly installs: readonly InstallState[];
  /** What leads there from elsewhere. */
  readonly first: string;
}

export const HARDWARE_WORK = {
  ERASE: {
    description: 'Erase every disk of the machine, then retire it; nothing brings its data back',
    phase: 'MAINTENANCE',
    installs: ['active', 'deprovisioning'],
    first: 'Make it active first, or retire it without an erasure.',
  },
  MIGRATE: {
    description: 'Move the identity of the machine to replacement hardware; its history stays',
    phase: 'MAINTENANCE',
    installs: ['active', 'migrating'],
    first: 'Make it active first.',
  },
} as const satisfies Record<HardwareWorkType, HardwareWorkInfo>;

export function isHardwareWork(type: string): type is HardwareWorkType {
  return Object.hasOwn(HARDWARE_WORK, type);
}

interface NodeMachine extends GatedMachine {
  readonly install: InstallState | null;
}

/** What is wrong with its install state; null when the work can start from it. */
export function wrongInstall(
  type: HardwareWorkType,
  { machineId, install }: Pick<NodeMachine, 'machineId' | 'install'>,
): string | null {
  const info: HardwareWorkInfo = HARDWARE_WORK[type];
  if (install !== null && info.installs.includes(install)) return null;
  const states = info.installs.join(' or ');
  if (install === null)
    return `${type} needs install state ${states}, and ${machineId} has none: it never booted from the network.`;
  return `${type} needs install state ${states}, and ${machineId} is ${install}. ${info.first}`;
}

/** Null when it can start. In the order in which the server checks. */
export function whyNotHardwareWork(type: HardwareWorkType, machine: NodeMachine): string | null {
  const { machineId, phase } = machine;
  const blocked = blockedBecause(machine);
  if (blocked) return blocked;
  const needed = HARDWARE_WORK[type].phase;
  if (phase !== needed)
    return `${type} needs ${needed}, and ${machineId} is ${phase}. Enter maintenance first.`;
  return wrongInstall(type, machine) ?? busyBecause(machine);
}
