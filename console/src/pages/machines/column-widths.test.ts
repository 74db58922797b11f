import { expect, it } from 'vitest';
import { columnWidths } from './column-widths.ts';
import { columnFacts, DEFAULT_COLUMNS } from './view.ts';

const sum = (widths: ReadonlyMap<string, number>) =>
  [...widths.values()].reduce((all, width) => all + width, 0);
const usual = sum(new Map(DEFAULT_COLUMNS.map((id) => [id, columnFacts(id).width])));

it('are the usual ones while the ids fit', () => {
  expect(sum(columnWidths(DEFAULT_COLUMNS, 12))).toBe(usual);
});

it('give an id of 20 characters its room, and together stay as wide as before', () => {
  const widths = columnWidths(DEFAULT_COLUMNS, 20);
  expect(widths.get('machine_id')).toBeGreaterThanOrEqual(20 * 7.8 + 16);
  expect(sum(widths)).toBe(usual);
});

it('grow with the table where no column gives way, and not for an id without end', () => {
  expect(columnWidths(['machine_id', 'phase'], 1_000).get('machine_id')).toBeLessThan(250);
});
