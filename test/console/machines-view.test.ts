import { describe, expect, it } from 'vitest';
import { placeAfter } from '../../console/src/pages/machines/place.ts';
import {
  everything,
  inOrder,
  kept,
  NOTHING,
  toggled,
  withAllToggled,
  withRange,
} from '../../console/src/pages/machines/selection.ts';
import { troubles } from '../../console/src/pages/machines/troubles.ts';
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
    expect(selection.ids).toEqual(new Set(['a', 'e']));
    expect(inOrder(selection, listOf('e', 'x', 'a'))).toEqual(['e', 'a']);
    const same = kept(selection, listOf('a', 'e'));
    expect(same).toBe(selection);
  });
});

describe('a place in the list', () => {
  const list = { ...listOf('a', 'b', 'c', 'd', 'e'), key: '' };
  const at = (row: number, offset = 5, marked = -1) => ({ list, row, offset, marked });

  it('is the machine at the top of the screen, wherever it is now, and the one that is marked', () => {
    expect(placeAfter(at(2, 5, 3), listOf('x', 'y', 'd', 'c'))).toEqual({ row: 3, offset: 5, marked: 2 });
    expect(placeAfter(at(2, 5, 1), listOf('c', 'd'))).toEqual({ row: 0, offset: 5, marked: -1 });
  });

  it('is the next machine that is left, or the end', () => {
    expect(placeAfter(at(1), listOf('x', 'd', 'e'))).toEqual({ row: 1, offset: 0, marked: -1 });
    expect(placeAfter(at(3), listOf('a', 'b'))).toEqual({ row: 1, offset: 0, marked: -1 });
    expect(placeAfter(at(3), listOf())).toEqual({ row: 0, offset: 0, marked: -1 });
  });

  it('at the top is the top: what comes in above is seen', () => {
    expect(placeAfter(at(0, 0), listOf('new', 'a', 'b'))).toMatchObject({ row: 0, offset: 0 });
  });
});

describe('troubles', () => {
  const condition = (status: boolean) => ({ status, reason: 'R', message: 'm', lastTransition: '' });

  it('are the conditions that are bad as they are, the worst first', () => {
    const found = troubles({
      Reachable: condition(false),
      BMCReachable: condition(true),
      Degraded: condition(false),
      OperationCanceled: condition(true),
      RMA: condition(true),
    });
    expect(found.map(({ text, tone }) => `${text} ${tone}`)).toEqual([
      'RMA red',
      'not Reachable orange',
      'OperationCanceled yellow',
    ]);
  });
});
