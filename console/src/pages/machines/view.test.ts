import { describe, expect, it } from 'vitest';
import { SPEC_FIELD_NAMES, SPEC_FIELDS } from '../../../../src/domain/machine/spec/spec-field.ts';
import { SPEC_LINES } from '../../../../src/domain/machine/spec/spec-value.ts';
import { FACET_FIELDS } from './facet-filter.ts';
import { COLUMN_IDS, DEFAULT_COLUMNS, DEFAULT_SORT, nextSort, readView, writeView } from './view.ts';

describe('the state of the page', () => {
  it('has a column, and a facet, for every field of the spec that the table says', () => {
    const columns = SPEC_LINES.filter(({ shown }) => shown.listColumn).map(({ key }) => key);
    expect(COLUMN_IDS).toEqual(expect.arrayContaining(columns));
    const facets = SPEC_FIELD_NAMES.filter((name) => 'facet' in SPEC_FIELDS[name].shown);
    expect(FACET_FIELDS).toEqual(expect.arrayContaining(facets));
  });

  it('is in the URL, and read back from it', () => {
    const view = {
      filter: 'phase=READY AND labels.rack="a b"',
      sort: { field: 'effective_since', direction: 'descending' },
      columns: ['machine_id', 'phase', 'labels.env'],
      facets: 'shown',
      group: 'location.rack',
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
      facets: 'hidden',
      group: '',
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
    expect(nextSort(nextSort(DEFAULT_SORT, 'tone'), 'tone')).toEqual(DEFAULT_SORT);
  });
});
