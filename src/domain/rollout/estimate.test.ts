import { describe, expect, it } from 'vitest';
import { type DurationsByType, estimateOf, roundsOf } from './estimate.ts';
import type { RolloutStep } from './rollout-spec.ts';

const STEPS: RolloutStep[] = [
  { verb: 'enter-maintenance', durationMs: null, reason: '', exitWhenOver: false },
  { verb: 'reimage', imageRef: 'a' },
  { verb: 'verify', filter: 'phase=READY', forMs: 30_000, timeoutMs: 60_000 },
];

const HISTORY: DurationsByType = new Map([
  ['ENTER_MAINTENANCE', { p50Seconds: 1, p90Seconds: 2, samples: 10 }],
  ['REIMAGE', { p50Seconds: 600, p90Seconds: 900, samples: 40 }],
]);

describe('the estimate of a rollout', () => {
  it('adds the steps of a machine, the rounds of each wave, and the soak time between waves', () => {
    expect(estimateOf({ steps: STEPS, soakMs: 300_000 }, [1, 3], HISTORY)).toEqual({
      p50Seconds: 4 * (1 + 600 + 30) + 300,
      p90Seconds: 4 * (2 + 900 + 30) + 300,
      samples: 50,
      unknownSteps: [],
    });
  });

  it('names the steps that it knows nothing of, and is absent where it knows nothing at all', () => {
    const some: DurationsByType = new Map([['REIMAGE', { p50Seconds: 600, p90Seconds: 900, samples: 40 }]]);
    expect(estimateOf({ steps: STEPS, soakMs: 0 }, [1], some)).toMatchObject({
      p50Seconds: 630,
      samples: 40,
      unknownSteps: ['enter-maintenance'],
    });
    expect(estimateOf({ steps: STEPS, soakMs: 0 }, [1], new Map())).toBeNull();
  });
});

describe('the rounds of a wave', () => {
  it.each([
    [100, null, [], 1],
    [100, 20, [], 5],
    [101, 20, [], 6],
    [100, 20, [{ machines: 30, allowed: 1 }], 30],
    [100, 20, [{ machines: 4, allowed: 2 }], 5],
    [0, 20, [], 0],
  ] as const)(
    'are, for %d machines and %s at once with the groups %j, %d',
    (machines, parallel, groups, rounds) => {
      expect(roundsOf(machines, parallel, groups)).toBe(rounds);
    },
  );
});
