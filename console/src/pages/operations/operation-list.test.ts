import { describe, expect, it } from 'vitest';
import { checkFilter } from '../../../../src/domain/filter/check.ts';
import { OPERATION_FILTER } from '../../../../src/domain/filter/operation-filter.ts';
import { parseFilter } from '../../../../src/domain/filter/parse.ts';
import { askedFilter, filtersFor, patched, SHOWN, startOfDay, withoutRepeats } from './operation-list.ts';

const check = (filter: string) => checkFilter(parseFilter(filter), OPERATION_FILTER);

describe('the filter of the operations list', () => {
  it('combines its parts', () => {
    const since = new Date(Date.UTC(2026, 1, 3));
    expect(askedFilter({ filter: ' ', shown: null, since: null })).toBe('');
    expect(askedFilter({ filter: 'a=1 OR b=2', shown: null, since: null })).toBe('a=1 OR b=2');
    expect(askedFilter({ filter: 'a=1 OR b=2', shown: 'failed', since })).toBe(
      '(a=1 OR b=2) AND (phase = FAILED) AND (created_at >= "2026-02-03T00:00:00.000Z")',
    );
  });

  it('is accepted by the server, whatever is selected', () => {
    for (const shown of Object.keys(SHOWN) as (keyof typeof SHOWN)[])
      expect(() => check(askedFilter({ filter: 'type = REBOOT', shown, since: new Date() }))).not.toThrow();
    expect(() => check('phase = GONE')).toThrow();
  });

  it('finds rows by their ids within the limits of a filter', () => {
    const ids = Array.from({ length: 150 }, (_, index) => `op-01m7h4pbv39jx0p4ctte2x${index}`);
    const filters = filtersFor(ids);
    expect(filters).toHaveLength(3);
    for (const filter of filters) expect(() => check(filter)).not.toThrow();
    expect(
      ids.every((id) => filters.some((filter) => filter.split(' OR ').includes(`operation_id=${id}`))),
    ).toBe(true);
    expect(filtersFor([])).toEqual([]);
  });

  it('starts today at local midnight', () => {
    const start = startOfDay(Date.now());
    expect([start.getHours(), start.getMinutes(), start.getSeconds()]).toEqual([0, 0, 0]);
  });
});

describe('updated rows', () => {
  const row = (operationId: string, status = 'pending') => ({ operationId, status });

  it('are replaced in place, and pages without any of them stay identical', () => {
    const pages = [{ operations: [row('a'), row('b')] }, { operations: [row('c')] }];
    const after = patched(pages, [row('b', 'running'), row('new', 'running')]);
    expect(after.map(({ operations }) => operations)).toEqual([[row('a'), row('b', 'running')], [row('c')]]);
    expect(after[1]).toBe(pages[1]);
  });

  it('are shown once', () => {
    expect(withoutRepeats([row('a'), row('b'), row('a', 'running')])).toEqual([row('a'), row('b')]);
  });
});
