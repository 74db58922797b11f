import { expect, it } from 'vitest';
import { LEMON_FACTOR_NAMES, type LemonFacts, lemonScore } from './lemon-score.ts';

const NONE = Object.fromEntries(LEMON_FACTOR_NAMES.map((name) => [name, 0])) as unknown as LemonFacts;

it('is 0 without reasons for a machine to which nothing happened', () => {
  expect(lemonScore(NONE)).toEqual({ score: 0, reasons: [] });
});

it('says the reasons in words, the worst first', () => {
  expect(lemonScore({ ...NONE, failed_operations: 1, memory_uncorrectable: 2, hardware_changes: 1 })).toEqual(
    {
      score: 49,
      reasons: [
        '2 uncorrectable memory errors (40 points)',
        '1 failed operation (5 points)',
        '1 change of its hardware (4 points)',
      ],
    },
  );
});

it('is no higher for one kind of trouble than its limit, and never above 100', () => {
  expect(lemonScore({ ...NONE, memory_correctable: 5_000 })).toEqual({
    score: 15,
    reasons: ['5000 correctable memory errors (15 points)'],
  });
  const all = Object.fromEntries(LEMON_FACTOR_NAMES.map((name) => [name, 1_000])) as unknown as LemonFacts;
  expect(lemonScore(all).score).toBe(100);
});
