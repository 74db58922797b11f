/**
 * What a machine is doing right now: a pure function of phase, conditions and the active operation. It is
 * computed on read and never stored as a fact. The database has the same function for its indexes
 * (ingot_effective_state in the migrations), and a test compares the two on every combination.
 */
import { type Conditions, isTrue } from './condition.ts';
import type { Phase } from './phase.ts';

export type EffectiveState = 'NEW' | 'IDLE' | 'BUSY' | 'MAINTENANCE' | 'ATTENTION' | 'BLOCKED';

export const EFFECTIVE_STATES = {
  NEW: { colour: 'gray', meaning: 'needs setup', userAction: 'Enter maintenance, reimage' },
  IDLE: { colour: 'green', meaning: 'healthy', userAction: 'Ready for work' },
  BUSY: { colour: 'blue', meaning: 'working', userAction: 'Wait or cancel' },
  MAINTENANCE: { colour: 'yellow', meaning: 'out of service', userAction: 'Reimage, then exit' },
  ATTENTION: { colour: 'orange', meaning: 'needs help', userAction: 'Investigate, remediate' },
  BLOCKED: { colour: 'red', meaning: 'unusable', userAction: 'RMA or decommission' },
} as const satisfies Record<EffectiveState, { colour: string; meaning: string; userAction: string }>;

const STATE_OF_IDLE_PHASE = {
  FACTORY_READY: 'NEW',
  READY: 'IDLE',
  MAINTENANCE: 'MAINTENANCE',
} as const satisfies Record<Phase, EffectiveState>;

export interface EffectiveStateInput {
  readonly phase: Phase;
  readonly conditions: Conditions;
  readonly activeOperationId: string | null;
}

export function effectiveState(machine: EffectiveStateInput): EffectiveState {
  if (isTrue(machine.conditions, 'Retired') || isTrue(machine.conditions, 'RMA')) return 'BLOCKED';
  if (isTrue(machine.conditions, 'NeedsIntervention')) return 'ATTENTION';
  if (machine.activeOperationId !== null) return 'BUSY';
  return STATE_OF_IDLE_PHASE[machine.phase];
}
