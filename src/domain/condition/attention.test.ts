import { describe, expect, it } from 'vitest';
import { effectiveState } from '../machine/effective-state.ts';
import { type ATTENTION_TYPES, attentionCondition, attentionType } from './attention.ts';
import { CONDITION_TYPES, type Conditions, type ConditionType } from './condition.ts';

const condition = (status: boolean, reason: string) => ({ status, reason, message: '', lastTransition: '' });

describe('the condition that needs attention', () => {
  it('is known of a machine exactly when its effective state is ATTENTION or BLOCKED', () => {
    for (let bits = 0; bits < 2 ** CONDITION_TYPES.length; bits += 1) {
      const conditions: Conditions = Object.fromEntries(
        CONDITION_TYPES.map((type, index) => [type, condition((bits & (1 << index)) !== 0, type)]),
      );
      const state = effectiveState({ phase: 'READY', conditions, activeOperationId: null });
      const needsAttention = state === 'ATTENTION' || state === 'BLOCKED';
      expect(attentionType(conditions) !== null).toBe(needsAttention);
      expect(attentionCondition(conditions)?.reason).toBe(attentionType(conditions) ?? undefined);
    }
  });

  it.each([
    [['NeedsIntervention', 'RMA', 'Retired'], 'Retired'],
    [['NeedsIntervention', 'RMA'], 'RMA'],
    [['NeedsIntervention'], 'NeedsIntervention'],
    [['Degraded'], null],
  ] as ReadonlyArray<[ConditionType[], (typeof ATTENTION_TYPES)[number] | null]>)(
    'of %j is %s',
    (types, expected) => {
      const conditions = Object.fromEntries(types.map((type) => [type, condition(true, 'x')]));
      expect(attentionType(conditions)).toBe(expected);
    },
  );
});
