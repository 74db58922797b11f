import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyCondition, CONDITION_TYPES, CONDITIONS, type Conditions, isTrue } from './condition.ts';

const change = fc.record({
  type: fc.constantFrom(...CONDITION_TYPES),
  status: fc.boolean(),
  reason: fc.constantFrom('First', 'Second'),
  message: fc.constantFrom('one', 'two'),
});

describe('applyCondition', () => {
  it('moves the time of the last transition when the status changes, and only then', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
        let conditions: Conditions = {};
        for (const [minute, next] of changes.entries()) {
          const before = conditions[next.type];
          const at = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
          conditions = applyCondition(conditions, next, at);
          const moved = before?.status !== next.status;
          expect(conditions[next.type]).toEqual({
            status: next.status,
            reason: next.reason,
            message: next.message,
            lastTransition: moved ? at : before?.lastTransition,
          });
        }
      }),
    );
  });

  it('touches no other condition, and not what it was given', () => {
    const before: Conditions = {
      RMA: { status: true, reason: 'Flagged', message: 'fan', lastTransition: '2026-01-01T00:00:00.000Z' },
    };
    const copy = structuredClone(before);
    const after = applyCondition(
      before,
      { type: 'Reachable', status: true, reason: 'Pinged', message: '' },
      '2026-01-02T00:00:00.000Z',
    );
    expect(before).toEqual(copy);
    expect(after.RMA).toBe(before.RMA);
  });
});

describe('isTrue', () => {
  it('takes what is not known for not true', () => {
    expect(isTrue({}, 'RMA')).toBe(false);
  });
});

describe('each condition', () => {
  it.each(CONDITION_TYPES)('%s says what it means', (type) => expect(CONDITIONS[type]).not.toBe(''));
});
