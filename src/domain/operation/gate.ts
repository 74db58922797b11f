/** Why a machine takes no operation of a type at present, and what to do first. The server and the console both use it. */
import { type Conditions, isTrue } from '../condition/condition.ts';
import type { Phase } from '../machine/phase.ts';
import type { ServiceState } from '../machine/service-state.ts';
import { PHASE_GATED_TYPES, type PhaseGatedType } from './phase-gated-type.ts';

export interface GatedMachine {
  readonly machineId: string;
  readonly phase: Phase;
  readonly service: ServiceState | null;
  readonly conditions: Conditions;
  readonly activeOperationId: string | null;
}

const BLOCKING_FLAGS = ['Retired', 'RMA'] as const;
export type BlockingFlag = (typeof BLOCKING_FLAGS)[number];

export function blockingFlag(machine: Pick<GatedMachine, 'conditions'>): BlockingFlag | null {
  return BLOCKING_FLAGS.find((type) => isTrue(machine.conditions, type)) ?? null;
}

function isPhaseFor(type: PhaseGatedType, phase: Phase): boolean {
  const phases: readonly Phase[] = PHASE_GATED_TYPES[type].phases;
  return phases.includes(phase);
}

const FIRST: Readonly<Record<Phase, string>> = {
  MAINTENANCE: 'Enter maintenance first.',
  READY: 'Exit maintenance first.',
  FACTORY_READY: 'Only a new machine can take it.',
};

/** Why the machine takes no operations at all; null when it may take some. */
export function blockedBecause(
  machine: Pick<GatedMachine, 'machineId' | 'service' | 'conditions'>,
): string | null {
  const { machineId, service } = machine;
  if (service === 'deleted') return `${machineId} was removed for good and takes no operations.`;
  const flag = blockingFlag(machine);
  if (flag === 'RMA') return `${machineId} is flagged RMA and takes no operations. Remove the flag first.`;
  return flag && `${machineId} is flagged ${flag} and takes no operations.`;
}

export function busyBecause({ machineId, activeOperationId }: GatedMachine): string | null {
  return activeOperationId === null
    ? null
    : `${machineId} has operation ${activeOperationId} under way. Wait for it, or cancel it first.`;
}

/** Null when the machine takes the operation. Checks in the server's order. */
export function whyNot(type: PhaseGatedType, machine: GatedMachine): string | null {
  const { machineId, phase } = machine;
  const blocked = blockedBecause(machine);
  if (blocked) return blocked;
  if (!isPhaseFor(type, phase)) {
    const allowed: readonly Phase[] = PHASE_GATED_TYPES[type].phases;
    const [first] = allowed.includes('MAINTENANCE') ? (['MAINTENANCE'] as const) : allowed;
    return `${type} needs ${allowed.join(' or ')}, and ${machineId} is ${phase}. ${first ? FIRST[first] : ''}`.trim();
  }
  return busyBecause(machine);
}
