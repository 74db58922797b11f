import { describe, expect, it } from 'vitest';
import { everything, inOrder, kept, NOTHING, toggled, withAllToggled, withRange } from './selection.ts';

function listOf(...ids: string[]) {
  return { ids, positions: new Map(ids.map((id, place) => [id, place])) };
}

describe('a selection', () => {
  const list = listOf('a', 'b', 'c', 'd', 'e');

  it('adds a range in either direction from the row selected last', () => {
    expect(inOrder(withRange(toggled(NOTHING, 'd'), list, 'b'), list)).toEqual(['b', 'c', 'd']);
    expect(inOrder(withRange(toggled(NOTHING, 'b'), list, 'd'), list)).toEqual(['b', 'c', 'd']);
  });

  it('removes a range if the row was selected', () => {
    const all = { ...everything(list), anchor: 'b' };
    expect(inOrder(withRange(all, list, 'd'), list)).toEqual(['a', 'e']);
  });

  it('adds one row if there is no start of a range', () => {
    expect(inOrder(withRange(NOTHING, list, 'c'), list)).toEqual(['c']);
  });

  it('adds all visible rows, then removes them', () => {
    const some = toggled(NOTHING, 'b');
    const shown = withAllToggled(some, ['b', 'c']);
    expect(inOrder(shown, list)).toEqual(['b', 'c']);
    expect(inOrder(withAllToggled(shown, ['b', 'c']), list)).toEqual([]);
  });

  it('never contains machines that are not in the list', () => {
    const selection = kept(everything(list), listOf('e', 'x', 'a'));
    expect(selection.ids).toEqual(new Set(['a', 'e']));
    expect(inOrder(selection, listOf('e', 'x', 'a'))).toEqual(['e', 'a']);
    const same = kept(selection, listOf('a', 'e'));
    expect(same).toBe(selection);
  });
});
