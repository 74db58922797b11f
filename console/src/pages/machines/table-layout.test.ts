import { describe, expect, it } from 'vitest';
import { TableLayout } from './table-layout.ts';

const GROUPS = [
  { value: 'r1', machines: 2 },
  { value: 'r2', machines: 3 },
  { value: '', machines: 1 },
];
const layoutOf = (...collapsed: string[]) => new TableLayout(6, GROUPS, new Set(collapsed));
const drawn = (layout: TableLayout) =>
  Array.from({ length: layout.places }, (_, place) => {
    const entry = layout.at(place);
    return entry.kind === 'machine' ? entry.index : `${entry.group.value}:${entry.group.machines}`;
  });

describe('the places of a table', () => {
  it('are those of its machines where there are no groups', () => {
    const layout = new TableLayout(3, [], new Set());
    expect(drawn(layout)).toEqual([0, 1, 2]);
    expect(layout.placeOf(2)).toBe(2);
  });

  it('begin each group with its heading', () => {
    expect(drawn(layoutOf())).toEqual(['r1:2', 0, 1, 'r2:3', 2, 3, 4, ':1', 5]);
  });

  it('have only the heading of a group that is collapsed', () => {
    expect(drawn(layoutOf('r2'))).toEqual(['r1:2', 0, 1, 'r2:3', ':1', 5]);
    expect(drawn(layoutOf('r1', 'r2', ''))).toEqual(['r1:2', 'r2:3', ':1']);
  });

  it('are found by machine, also in a group that is collapsed', () => {
    const layout = layoutOf('r2');
    expect([0, 1, 2, 4, 5].map((index) => layout.placeOf(index))).toEqual([1, 2, 3, 3, 5]);
    expect([0, 1, 3, 4].map((place) => layout.machineFrom(place))).toEqual([0, 0, 2, 5]);
  });

  it('end with the machines that were read so far, and with those beyond the groups', () => {
    expect(drawn(new TableLayout(3, GROUPS, new Set()))).toEqual(['r1:2', 0, 1, 'r2:3', 2]);
    expect(drawn(new TableLayout(8, GROUPS, new Set(['r1', 'r2', ''])))).toEqual([
      'r1:2',
      'r2:3',
      ':1',
      'null:2',
      6,
      7,
    ]);
  });
});
