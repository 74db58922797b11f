import { describe, expect, it } from 'vitest';
import { DEFAULT_COLUMNS, DEFAULT_SORT, nextSort, readView, writeView } from './view.ts';

describe('the state of the page', () => {
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

  it('leaves defaults out of the URL', () => {
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

  it('always has the machine id, and no unknown column', () => {
    expect(readView(new URLSearchParams('columns=phase,bogus,labels.')).columns).toEqual([
      'machine_id',
      'phase',
    ]);
  });

  it('cycles through the orders of a column', () => {
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
