import { expect, test } from 'vitest';
import { slope, trendOf } from '../../bench/soak/slopes.ts';

const line = (start: number, perSecond: number, count = 60) =>
  Array.from({ length: count }, (_none, at) => ({ seconds: at, value: start + at * perSecond }));

test('the slope is that of the line, whatever is around it', () => {
  expect(slope(line(5, 2))).toBeCloseTo(2);
  const noisy = line(5, 2).map(({ seconds, value }) => ({ seconds, value: value + (seconds % 2) }));
  expect(slope(noisy)).toBeCloseTo(2, 1);
  expect(slope([])).toBe(0);
});

test('a figure that rises within the run grows; one that rises at its begin only does not', () => {
  expect(trendOf('memory', line(100, 1), 0.1)).toMatchObject({ verdict: 'grows', perHour: 3_600 });
  const warming = [...line(0, 10, 20), ...line(200, 0, 40)].map(({ value }, seconds) => ({ seconds, value }));
  expect(trendOf('memory', warming, 0.1)).toMatchObject({ verdict: 'level', growth: 0 });
  expect(trendOf('memory', line(100, -1), 0.1)).toMatchObject({ verdict: 'level' });
});

test('few samples say nothing', () => {
  expect(trendOf('memory', line(1, 1, 5), 0.1).verdict).toBe('too few samples');
});
