import { expect, test } from 'vitest';
import { type RunningStep, stallOf, stallText } from './stall.ts';

const NOW = new Date('2026-02-01T12:00:00Z');
const step = (seconds: number): RunningStep => ({
  operationId: 'op-1',
  machineId: 'm-1',
  type: 'REIMAGE',
  step: 'repave',
  kind: 'repave',
  provider: 'dc',
  startedAt: new Date(NOW.getTime() - seconds * 1000),
});
const usual = { p50Seconds: 180, p99Seconds: 600, samples: 100 };

test('a step that is slower than 99 % of its history is stalled, and says by how much', () => {
  const stall = stallOf(step(840), usual, NOW);
  expect(stall && stallText(stall, NOW)).toBe('slower than 99 % of its history: 14 min, usually 3 min');
  expect(stallOf(step(600), usual, NOW)).toBeNull();
  expect(stallOf(step(601), usual, NOW)).not.toBeNull();
});

test('a step with little history, or one of a second, is not', () => {
  expect(stallOf(step(840), undefined, NOW)).toBeNull();
  expect(stallOf(step(840), { ...usual, samples: 19 }, NOW)).toBeNull();
  const short = { p50Seconds: 1, p99Seconds: 2, samples: 100 };
  expect(stallOf(step(9), short, NOW)).toBeNull();
  expect(stallOf(step(11), short, NOW)).not.toBeNull();
});
