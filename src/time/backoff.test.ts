import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

const policy = { firstMs: 1_000, maxMs: 60_000 };
const attempt = fc.integer({ min: 1, max: 10_000 });
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('backoffMs', () => {
  it.each([
    [1, 500, 1_000],
    [2, 1_000, 2_000],
    [3, 2_000, 4_000],
    [7, 30_000, 60_000],
    [1_000, 30_000, 60_000],
  ])('attempt %i waits from %i to %i ms', (number, least, most) => {
    expect(backoffMs(policy, number, 0)).toBe(least);
    expect(backoffMs(policy, number, 1 - Number.EPSILON)).toBe(most);
  });

  it('is never immediate, never beyond the limit, and a whole number of milliseconds', () => {
    fc.assert(
      fc.property(attempt, random, (number, chance) => {
        const pause = backoffMs(policy, number, chance);
        return Number.isInteger(pause) && pause >= policy.firstMs / 2 && pause <= policy.maxMs;
      }),
    );
  });

  it('does not shorten from one attempt to the next at the same chance', () => {
    fc.assert(
      fc.property(attempt, random, (number, chance) => {
        return backoffMs(policy, number + 1, chance) >= backoffMs(policy, number, chance);
      }),
    );
  });
});
