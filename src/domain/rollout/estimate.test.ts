import { describe, expect, it } from 'vitest';
import { type DurationHistory, estimateOf, roundsOf, type WaveEstimate } from './estimate.ts';
import type { Gate, RolloutSpec, RolloutStep } from './spec/rollout-spec.ts';

const STEPS: RolloutStep[] = [
  { verb: 'enter-maintenance', durationMs: null, reason: '', exitWhenOver: false },
  { verb: 'reimage', imageRef: 'a' },
  { verb: 'verify', filter: 'phase=READY', forMs: 30_000, timeoutMs: 60_000 },
];

const HISTORY: DurationHistory = {
  types: new Map([
    ['ENTER_MAINTENANCE', { p50Seconds: 1, p90Seconds: 2, samples: 10 }],
    ['REIMAGE', { p50Seconds: 600, p90Seconds: 900, samples: 40 }],
  ]),
  approvals: null,
};

/** A Monday. */
const START = new Date('2026-03-02T09:00:00Z');

const spec = (given: Partial<RolloutSpec> = {}) => ({
  steps: STEPS,
  soakMs: 0,
  windows: [],
  blackouts: [],
  ...given,
});

const waves = (rounds: readonly number[], gate: Gate = 'automatic'): WaveEstimate[] =>
  rounds.map((count) => ({ rounds: count, gate }));

describe('the estimate of a rollout', () => {
  it('adds the steps of a machine, the rounds of each wave, and the soak time between waves', () => {
    expect(estimateOf(spec({ soakMs: 300_000 }), waves([1, 3]), HISTORY, START)).toEqual({
      p50Seconds: 4 * (1 + 600 + 30) + 300,
      p90Seconds: 4 * (2 + 900 + 30) + 300,
      samples: 50,
      unknownSteps: [],
      unknownGates: 0,
    });
  });

  it('adds the wait for each approval as long as approvals took, and says where it does not know', () => {
    const approvals = { p50Seconds: 60, p90Seconds: 3_600, samples: 5 };
    const gated = [...waves([1]), ...waves([1, 1], 'approval')];
    expect(estimateOf(spec(), gated, { ...HISTORY, approvals }, START)).toMatchObject({
      p50Seconds: 3 * 631 + 2 * 60,
      p90Seconds: 3 * 932 + 2 * 3_600,
      unknownGates: 0,
    });
    expect(estimateOf(spec(), gated, HISTORY, START)).toMatchObject({ p50Seconds: 3 * 631, unknownGates: 2 });
  });

  it('adds the time between windows: a round that starts in one goes on after its end', () => {
    const days = ['mon', 'wed'] as const;
    const windows = [{ days, from: 9 * 60, to: 9 * 60 + 20, timeZone: 'UTC' }];
    // Two rounds of 631 s start in the 20 minutes of Monday, the third on Wednesday. Two of 932 s do, too.
    expect(estimateOf(spec({ windows }), waves([3]), HISTORY, START)).toMatchObject({
      p50Seconds: 2 * 86_400 + 631,
      p90Seconds: 2 * 86_400 + 932,
    });
    const blackouts = [{ from: '2026-03-04', to: '2026-03-04', timeZone: 'UTC', reason: '' }];
    expect(estimateOf(spec({ windows, blackouts }), waves([3]), HISTORY, START)).toMatchObject({
      p50Seconds: 7 * 86_400 + 631,
    });
  });

  it('soaks before it waits for a window', () => {
    const windows = [{ days: [], from: 9 * 60, to: 10 * 60, timeZone: 'UTC' }];
    expect(estimateOf(spec({ windows, soakMs: 3_600_000 }), waves([1, 1]), HISTORY, START)).toMatchObject({
      p50Seconds: 86_400 + 631,
    });
  });

  it('names the steps that it knows nothing of, and is absent where it knows nothing at all', () => {
    const types = new Map([['REIMAGE', { p50Seconds: 600, p90Seconds: 900, samples: 40 }]] as const);
    expect(estimateOf(spec(), waves([1]), { types, approvals: null }, START)).toMatchObject({
      p50Seconds: 630,
      samples: 40,
      unknownSteps: ['enter-maintenance'],
    });
    expect(estimateOf(spec(), waves([1]), { types: new Map(), approvals: null }, START)).toBeNull();
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
