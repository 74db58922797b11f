import { expect, test } from 'vitest';
import { Figures, median, ratios, showRow, spread } from '../../bench/rig/figures.ts';

const perSecond = (value: number, base?: number) => ({
  what: 'operations',
  unit: 'perSecond' as const,
  value,
  ...(base === undefined ? {} : { base: { of: 'inserts', value: base } }),
});

test('a median is the middle one, and of an even number the mean of the two', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 2, 9])).toBe(3);
  expect(spread([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3 });
});

test('ratios are of the same round, so that noise of the machine hits both', () => {
  // The machine is twice as slow in the second round. The ratio of the medians would be 1.5.
  expect(ratios([200, 100, 200], [100, 50, 100])).toEqual([2, 2, 2]);
  expect(ratios([1, 2, 3], [1])).toEqual([1]);
});

test('a row has the ratio to its base and to the other build, and a verdict on both', () => {
  const figures = new Figures();
  for (const [ours, other] of [
    [2_000, 1_000],
    [1_000, 400],
    [2_400, 1_200],
  ] as const) {
    figures.add('ours', [perSecond(ours, 4_000)]);
    figures.add('other', [perSecond(other, 4_000)]);
  }
  const [row] = figures.rows({ operations: { ofBase: 0.5, ofOther: 2 } });
  expect(row).toMatchObject({
    ours: { median: 2_000, least: 1_000, most: 2_400 },
    base: { ratio: { median: 0.5, least: 0.25, most: 0.6 } },
    other: { value: { median: 1_000 }, ratio: { median: 2, least: 2, most: 2.5 } },
    verdict: 'reached',
  });
  const [strict] = figures.rows({ operations: { ofBase: 0.51, ofOther: 2 } });
  expect(strict?.verdict).toBe('not reached');
});

test('without the other build its goal is left out, and without any goal there is no verdict', () => {
  const figures = new Figures();
  figures.add('ours', [perSecond(100, 100), { what: 'lag', unit: 'ms', value: 251 }]);
  const rows = figures.rows({ operations: { ofOther: 2 }, lag: { atMost: 250 } });
  expect(rows.map(({ verdict }) => verdict)).toEqual([undefined, 'not reached']);
});

test('what only the other build could do is no row', () => {
  const figures = new Figures();
  figures.add('other', [perSecond(1)]);
  expect(figures.rows({})).toEqual([]);
});

test('a row is printed with medians, ranges, ratios and its verdict', () => {
  const figures = new Figures();
  figures.add('ours', [perSecond(2_000, 4_000)]);
  figures.add('ours', [perSecond(2_200, 4_000)]);
  figures.add('other', [perSecond(1_000, 4_000)]);
  figures.add('other', [perSecond(1_000, 4_000)]);
  const [row] = figures.rows({ operations: { ofOther: 2 } });
  if (row === undefined) throw new Error('there is no row');
  expect(showRow(row, 'abc1234').map((line) => line.replace(/ {2,}/g, ' | '))).toEqual([
    'operations | 2,100/s (2,000/s to 2,200/s)',
    ' | of inserts | 0.53 (0.50 to 0.55)',
    ' | at abc1234 | 1,000/s, 0.25 of inserts',
    ' | ratio to abc1234 | 2.10 (2.00 to 2.20)',
    ' | goal: 2 of abc1234 | reached',
  ]);
});
