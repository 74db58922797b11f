import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { everything, inOrder, kept, NOTHING, toggled, withRange } from './selection.ts';

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

  it('never contains machines that are not in the list', () => {
    const selection = kept(everything(list), listOf('e', 'x', 'a'));
    expect(selection.ids.size).toBe(2);
    expect(inOrder(selection, listOf('e', 'x', 'a'))).toEqual(['e', 'a']);
    const same = kept(selection, listOf('a', 'e'));
    expect(same).toBe(selection);
  });

  it('is the same as a set of ids, whatever is clicked', () => {
    const long = listOf(...Array.from({ length: 5_000 }, (_, at) => `m-${at}`));
    const id = fc.nat(4_999).map((at) => `m-${at}`);
    const click = fc.oneof(
      fc.record({ kind: fc.constant('one' as const), id }),
      fc.record({ kind: fc.constant('range' as const), id }),
      fc.record({ kind: fc.constant('all' as const) }),
    );
    fc.assert(
      fc.property(fc.array(click, { maxLength: 30 }), (clicks) => {
        let selection = NOTHING;
        let plain = new Set<string>();
        for (const one of clicks) {
          const before = selection;
          if (one.kind === 'all') {
            selection = everything(long);
            plain = new Set(long.ids);
          } else {
            const from = long.positions.get(one.kind === 'range' ? before.anchor : one.id) ?? NaN;
            const to = long.positions.get(one.id) ?? NaN;
            selection = one.kind === 'range' ? withRange(before, long, one.id) : toggled(before, one.id);
            const range = Number.isNaN(from)
              ? [one.id]
              : long.ids.slice(Math.min(from, to), Math.max(from, to) + 1);
            const isOut = plain.has(one.id);
            for (const each of range) isOut ? plain.delete(each) : plain.add(each);
          }
          selection = kept(selection, long);
          expect(selection.ids.size).toBe(plain.size);
        }
        expect(inOrder(selection, long)).toEqual(long.ids.filter((each) => plain.has(each)));
        const half = listOf(...long.ids.filter((_, at) => at % 2 === 0));
        expect(inOrder(kept(selection, half), long)).toEqual(half.ids.filter((each) => plain.has(each)));
      }),
      { numRuns: 60 },
    );
  });
});
