import { expect, it } from 'vitest';
import { columnWidths } from './column-widths.ts';
import { columnFacts, DEFAULT_COLUMNS } from './view.ts';

const sum = (widths: ReadonlyMap<string, number>) =>
  [...widths.values()].reduce((all, width) => all + width, 0);
const usual = sum(new Map(DEFAULT_COLUMNS.map((id) => [id, columnFacts(id).width])));
const shown = (width: number, longestId = 14, columns = DEFAULT_COLUMNS) => [
  ...columnWidths(columns, { width, longestId }).keys(),
];

it('are the usual ones while they fit', () => {
  expect(sum(columnWidths(DEFAULT_COLUMNS, { width: usual, longestId: 12 }))).toBe(usual);
});

it('give an id of 20 characters its room, and together stay as wide as there is room', () => {
  const widths = columnWidths(DEFAULT_COLUMNS, { width: usual, longestId: 20 });
  expect(widths.get('machine_id')).toBeGreaterThanOrEqual(20 * 7.8 + 16);
  expect(sum(widths)).toBe(usual);
  expect([...widths.keys()]).toEqual(DEFAULT_COLUMNS);
});

it('take nothing from each other where there is room for all', () => {
  const widths = columnWidths(DEFAULT_COLUMNS, { width: usual + 300, longestId: 28 });
  expect(widths.get('location')).toBe(columnFacts('location').width);
});

it('go where there is no room, those first that the state says too', () => {
  expect(shown(724)).toEqual(['machine_id', 'headline', 'doing', 'location', 'effective_since']);
  expect(shown(350, 0)).toEqual(['machine_id', 'headline']);
  for (const width of [290, 309, 400, 500, 600, 724, 800, 900])
    expect(sum(columnWidths(DEFAULT_COLUMNS, { width, longestId: 12 }))).toBeLessThanOrEqual(width);
});

it('stay where someone chose them', () => {
  expect(shown(724, 14, [...DEFAULT_COLUMNS, 'pool', 'labels'])).toEqual([
    'machine_id',
    'headline',
    'pool',
    'labels',
  ]);
});

it('do not grow for an id without end', () => {
  const widths = columnWidths(['machine_id', 'phase'], { width: 2_000, longestId: 1_000 });
  expect(widths.get('machine_id')).toBeLessThan(250);
});
