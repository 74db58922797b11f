import { describe, expect, it } from 'vitest';
import { CONDITION_TYPES, type Conditions, type ConditionType } from '../condition/condition.ts';
import { statesOf } from '../lifecycle/lifecycle.ts';
import { EFFECTIVE_STATES, type EffectiveState, effectiveReason, effectiveState } from './effective-state.ts';
import { type Phase, phaseLifecycle } from './phase.ts';

const AT = '2026-01-01T00:00:00.000Z';
/** Not known, known to be false, true. */
const STATUSES = [undefined, false, true] as const;
const DECIDING = ['Retired', 'RMA', 'NeedsIntervention'] as const satisfies readonly ConditionType[];
const OTHERS = CONDITION_TYPES.filter((type) => !(DECIDING as readonly string[]).includes(type));

function conditionsOf(statuses: Partial<Record<ConditionType, boolean | undefined>>): Conditions {
  const known = Object.entries(statuses).filter(([, status]) => status !== undefined);
  return Object.fromEntries(
    known.map(([type, status]) => [type, { status, reason: 'R', message: 'm', lastTransition: AT }]),
  );
}

/** The list of docs/operations-api.md, written again by hand: the first that holds wins. */
function expected(
  phase: Phase,
  { Retired, RMA, NeedsIntervention }: Partial<Record<ConditionType, boolean | undefined>>,
  activeOperationId: string | null,
): EffectiveState {
  const precedence: readonly [EffectiveState, boolean][] = [
    ['BLOCKED', Retired === true || RMA === true],
    ['ATTENTION', NeedsIntervention === true],
    ['BUSY', activeOperationId !== null],
    ['MAINTENANCE', phase === 'MAINTENANCE'],
    ['NEW', phase === 'FACTORY_READY'],
    ['IDLE', true],
  ];
  return precedence.find(([, holds]) => holds)?.[0] ?? 'IDLE';
}

const combinations = statesOf(phaseLifecycle).flatMap((phase) =>
  STATUSES.flatMap((Retired) =>
    STATUSES.flatMap((RMA) =>
      STATUSES.flatMap((NeedsIntervention) =>
        [null, 'op-1'].flatMap((activeOperationId) =>
          [false, true].map((rest) => ({
            phase,
            activeOperationId,
            statuses: {
              Retired,
              RMA,
              NeedsIntervention,
              ...Object.fromEntries(OTHERS.map((type) => [type, rest])),
            },
          })),
        ),
      ),
    ),
  ),
);

describe('effectiveState', () => {
  it('follows the precedence in every combination of phase, conditions and active operation', () => {
    expect(combinations).toHaveLength(3 * 27 * 2 * 2);
    for (const { phase, statuses, activeOperationId } of combinations) {
      const conditions = conditionsOf(statuses);
      expect(
        effectiveState({ phase, conditions, activeOperationId }),
        JSON.stringify({ phase, statuses, activeOperationId }),
      ).toBe(expected(phase, statuses, activeOperationId));
    }
  });

  it('comes to every state that is documented', () => {
    const seen = new Set(
      combinations.map(({ phase, statuses, activeOperationId }) =>
        effectiveState({ phase, conditions: conditionsOf(statuses), activeOperationId }),
      ),
    );
    expect([...seen].toSorted()).toEqual(Object.keys(EFFECTIVE_STATES).toSorted());
  });
});

describe('effectiveReason', () => {
  const machine = { phase: 'READY', conditions: {}, activeOperationId: null } as const;

  it.each([
    [
      'the flag, before everything else',
      { conditions: conditionsOf({ RMA: true }), activeOperationId: 'op-1' },
      'RMA: m',
    ],
    [
      'the condition, before the operation',
      { conditions: conditionsOf({ NeedsIntervention: true }), activeOperationId: 'op-1' },
      'must look at it: m',
    ],
    ['the operation, by its id', { activeOperationId: 'op-1' }, 'operation op-1 is under way'],
    ['the phase', { phase: 'MAINTENANCE' }, 'phase is MAINTENANCE'],
    ['that it is new', { phase: 'FACTORY_READY' }, 'never provisioned'],
    ['that no condition prevents it', {}, 'nothing is under way'],
  ] as const)('names %s', (_what, given, because) => {
    expect(effectiveReason({ ...machine, ...given })).toContain(because);
  });

  it('gives a reason for every combination, that of the rule that decided', () => {
    const states = new Map<string, EffectiveState>();
    for (const { phase, statuses, activeOperationId } of combinations) {
      const input = { phase, conditions: conditionsOf(statuses), activeOperationId };
      const because = effectiveReason(input);
      expect(because).not.toBe('');
      expect(states.get(because) ?? effectiveState(input)).toBe(effectiveState(input));
      states.set(because, effectiveState(input));
    }
    expect(states.size).toBe(7);
  });
});
