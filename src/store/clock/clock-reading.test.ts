import { describe, expect, it } from 'vitest';
import { narrowed, offsetOf, stepBetween } from './clock-reading.ts';

const TOLERANCE_MS = 100;
const known = { low: 1_000, high: 1_010 };
const reading = (databaseMs: number, askedAt: number, answeredAt: number) =>
  offsetOf({ databaseMs, askedAt, answeredAt }, 0);

describe('a reading of the clock', () => {
  it.each([
    ['an answer within the tolerance', reading(51_050, 50_000, 50_002), 0],
    ['an answer that took 5 s', reading(51_004, 50_000, 55_000), 0],
    ['an answer that was given at the end of 5 s', reading(56_004, 50_000, 55_000), 0],
    ['a step back', reading(47_405, 50_000, 50_000), -3_600],
    ['a step forward', reading(54_605, 50_000, 50_000), 3_600],
    ['a step back that a slow answer can not hide', reading(41_000, 50_000, 55_000), -12_505],
  ])('%s', (_words, seen, step) => {
    expect(stepBetween(known, seen, TOLERANCE_MS)).toBe(step);
  });

  it('takes off the steps that were dealt with', () => {
    const seen = offsetOf({ databaseMs: 47_405, askedAt: 50_000, answeredAt: 50_000 }, -3_600);
    expect(stepBetween(known, seen, TOLERANCE_MS)).toBe(0);
  });

  it('makes what is known more exact, and follows a clock that drifts', () => {
    expect(narrowed(known, { low: 990, high: 1_004 })).toEqual({ low: 999, high: 1_004 });
    expect(narrowed(known, { low: 1_050, high: 1_060 })).toEqual({ low: 1_050, high: 1_060 });
  });
});
