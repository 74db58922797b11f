/**
 * What a machine is doing right now: a pure function of phase, conditions and the active operation. It is
 * computed on read and never stored. The database has the same function for its indexes
 * (ingot_effective_state in the migrations), and a test compares the two on every combination.
 */
import { type Conditions, type ConditionType, isTrue } from '../condition/condition.ts';
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

export interface EffectiveStateInput {
  readonly phase: Phase;
  readonly conditions: Conditions;
  readonly activeOperationId: string | null;
}

interface Rule {
  readonly state: EffectiveState;
  readonly holds: (machine: EffectiveStateInput) => boolean;
  /** The reason, as the part of a sentence after "because". */
  readonly because: (machine: EffectiveStateInput) => string;
}

function condition(state: EffectiveState, type: ConditionType, what: string): Rule {
  return {
    state,
    holds: ({ conditions }) => isTrue(conditions, type),
    because: ({ conditions }) => {
      const detail = conditions[type]?.message || conditions[type]?.reason;
      return detail ? `${what}: ${detail}` : what;
    },
  };
}

function phase(state: EffectiveState, phase: Phase, because: string): Rule {
  return { state, holds: (machine) => machine.phase === phase, because: () => because };
}

/** In the order of precedence that docs/operations-api.md gives: the first that holds decides. */
const RULES: readonly Rule[] = [
  condition('BLOCKED', 'Retired', 'it is flagged Retired'),
  condition('BLOCKED', 'RMA', 'it is flagged RMA'),
  condition('ATTENTION', 'NeedsIntervention', 'an operator must look at it'),
  {
    state: 'BUSY',
    holds: ({ activeOperationId }) => activeOperationId !== null,
    because: ({ activeOperationId }) => `operation ${activeOperationId} is under way`,
  },
  phase('MAINTENANCE', 'MAINTENANCE', 'its phase is MAINTENANCE and nothing is under way'),
  phase('NEW', 'FACTORY_READY', 'its phase is FACTORY_READY: it was never provisioned'),
];

const OTHERWISE: Rule = {
  state: 'IDLE',
  holds: () => true,
  because: () => 'its phase is READY, nothing is under way and no condition prevents it',
};

function decidingRule(machine: EffectiveStateInput): Rule {
  return RULES.find(({ holds }) => holds(machine)) ?? OTHERWISE;
}

export function effectiveState(machine: EffectiveStateInput): EffectiveState {
  return decidingRule(machine).state;
}

/** Why it has this effective state, as the part of a sentence after "because". */
export function effectiveReason(machine: EffectiveStateInput): string {
  return decidingRule(machine).because(machine);
}
