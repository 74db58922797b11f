import { describe, expect, it } from 'vitest';
import {
  everything,
  inOrder,
  kept,
  NOTHING,
  toggled,
  withAllToggled,
  withRange,
} from '../../console/src/pages/machines/selection.ts';
import {
  DEFAULT_COLUMNS,
  DEFAULT_SORT,
  nextSort,
  readView,
  writeView,
} from '../../console/src/pages/machines/view.ts';

function listOf(...ids: string[]) {
  return { ids, positions: new Map(ids.map((id, place) => [id, place])) };
}

describe('what the page shows', () => {
  it('is in the URL, and read back from it', () => {
    const view = {
      filter: 'phase=READY AND labels.rack="a b"',
      sort: { field: 'effective_since', direction: 'descending' },
      columns: ['machine_id', 'phase', 'labels.env'],
      facets: 'hidden',
    } as const;
    const params = writeView(new URLSearchParams('tab=x'), view);
    expect(params.get('tab')).toBe('x');
    expect(readView(new URLSearchParams(params.toString()))).toEqual(view);
  });

  it('is not said where it is as it is at first', () => {
    expect(readView(new URLSearchParams())).toEqual({
      filter: '',
      sort: DEFAULT_SORT,
      columns: DEFAULT_COLUMNS,
      facets: 'shown',
    });
    expect(
      writeView(new URLSearchParams('filter=x&sort=-pool'), readView(new URLSearchParams())).toString(),
    ).toBe('');
  });

  it('always has the machine’s name, and no column that nobody knows', () => {
    expect(readView(new URLSearchParams('columns=phase,bogus,labels.')).columns).toEqual([
      'machine_id',
      'phase',
    ]);
  });

  it('goes through the orders of a column', () => {
    const ascending = nextSort(DEFAULT_SORT, 'pool');
    const descending = nextSort(ascending, 'pool');
    expect([ascending, descending]).toEqual([
      { field: 'pool', direction: 'ascending' },
      { field: 'pool', direction: 'descending' },
    ]);
    expect(nextSort(descending, 'pool')).toEqual(DEFAULT_SORT);
    expect(nextSort(nextSort(DEFAULT_SORT, 'machine_id'), 'machine_id')).toEqual(DEFAULT_SORT);
  });
});

describe('a selection', () => {
  const list = listOf('a', 'b', 'c', 'd', 'e');

  it('takes a range in either direction, from the row that was chosen last', () => {
    expect(inOrder(withRange(toggled(NOTHING, 'd'), list, 'b'), list)).toEqual(['b', 'c', 'd']);
    expect(inOrder(withRange(toggled(NOTHING, 'b'), list, 'd'), list)).toEqual(['b', 'c', 'd']);
  });

  it('takes a range away where the row was selected', () => {
    const all = { ...everything(list), anchor: 'b' };
    expect(inOrder(withRange(all, list, 'd'), list)).toEqual(['a', 'e']);
  });

  it('takes one row where there is nothing to begin a range at', () => {
    expect(inOrder(withRange(NOTHING, list, 'c'), list)).toEqual(['c']);
  });

  it('takes all rows of the screen, then none of them', () => {
    const some = toggled(NOTHING, 'b');
    const shown = withAllToggled(some, ['b', 'c']);
    expect(inOrder(shown, list)).toEqual(['b', 'c']);
    expect(inOrder(withAllToggled(shown, ['b', 'c']), list)).toEqual([]);
  });

  it('is never of machines that are not in the list', () => {
    const selection = kept(everything(list), listOf('e', 'x', 'a'));
    expect(inOrder(selection, listOf('e', 'x', 'a'))).toEqual(['e', 'a']);
    const same = kept(selection, listOf('a', 'e'));
    expect(same).toBe(selection);
  });
});
