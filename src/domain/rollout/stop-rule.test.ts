import { expect, it } from 'vitest';
import type { StopRules } from './spec/rollout-spec.ts';
import { heldRule, NO_FAILURES, withFailure } from './stop-rule.ts';

const NONE: StopRules = {
  afterFailures: null,
  failurePercent: null,
  sameError: null,
  poolDegraded: false,
  unhealthy: '',
  metrics: [],
  cancelRunning: false,
};

const failed = (...failures: readonly (readonly [code: string, wave: number])[]) =>
  failures.reduce((tally, [code, wave]) => withFailure(tally, code, wave), NO_FAILURES);

const WAVES = [
  { number: 1, machines: 1 },
  { number: 2, machines: 10 },
];

it.each<[Partial<StopRules>, ReturnType<typeof failed>, string | null]>([
  [{ afterFailures: 2 }, failed(['A', 1]), null],
  [{ afterFailures: 1 }, failed(['A', 1]), '1 machine failed, and it stops after 1 (after_failures)'],
  [{ sameError: 2 }, failed(['A', 1], ['B', 2]), null],
  [
    { sameError: 2 },
    failed(['A', 1], ['B', 2], ['B', 2]),
    '2 machines failed with B, and it stops at 2 (same_error)',
  ],
  [
    { failurePercent: 20 },
    failed(['A', 1]),
    '1 of 1 machine of wave 1 failed, more than 20 % (failure_percent)',
  ],
  // Above, and not at, the percentage.
  [{ failurePercent: 20 }, failed(['A', 2], ['A', 2]), null],
  [
    { failurePercent: 20 },
    failed(['A', 2], ['A', 2], ['A', 2]),
    '3 of 10 machines of wave 2 failed, more than 20 % (failure_percent)',
  ],
  [{}, failed(['A', 1], ['A', 1]), null],
])('%j', (rules, tally, sentence) => expect(heldRule({ ...NONE, ...rules }, tally, WAVES)).toBe(sentence));
