import { describe, expect, it } from 'vitest';
import { printFilter } from '../../../../src/client/filter-text.ts';
import { parseFilter } from '../../../../src/domain/filter/parse.ts';
import { chosenValues, countGroups, withoutFacet, withToggled } from './facet-filter.ts';
import { filterFault } from './filter-text.ts';

describe('facets', () => {
  it('add a value to the filter, then another, and remove them again', () => {
    const one = withToggled('labels.env=prod', 'phase', 'READY');
    expect(one).toBe('labels.env=prod AND phase=READY');
    const two = withToggled(one, 'phase', 'MAINTENANCE');
    expect(two).toBe('labels.env=prod AND phase=READY OR phase=MAINTENANCE');
    expect(chosenValues(two, 'phase')).toEqual(new Set(['READY', 'MAINTENANCE']));
    expect(withToggled(withToggled(two, 'phase', 'READY'), 'phase', 'MAINTENANCE')).toBe('labels.env=prod');
  });

  it('keep the meaning of the rest of the filter, including OR and AND', () => {
    const filter = withToggled('labels.a=1 OR labels.b=2', 'pool', 'gpu');
    expect(filter).toBe('labels.a=1 OR labels.b=2 AND pool=gpu');
    expect(printFilter(parseFilter(filter))).toBe(
      printFilter(parseFilter('(labels.a=1 OR labels.b=2) AND pool=gpu')),
    );
  });

  it('recognize a typed filter, with states in any case', () => {
    expect(chosenValues('(phase = ready OR phase="Maintenance") provider=fake', 'phase')).toEqual(
      new Set(['READY', 'MAINTENANCE']),
    );
    expect(withoutFacet('(phase = ready OR phase="Maintenance") provider=fake', 'phase')).toBe(
      'provider=fake',
    );
  });

  it.each([
    'NOT phase=READY',
    'phase!=READY',
    'phase=*READY',
    'phase=READY OR labels.rack=r1',
    'NOT (phase=READY OR phase=MAINTENANCE)',
  ])('leave %j alone: it is not a selection of values', (filter) => {
    expect(chosenValues(filter, 'phase')).toEqual(new Set());
    expect(withoutFacet(filter, 'phase')).toBe(filter);
  });

  it('have an entry for machines without a value, for states and for texts', () => {
    expect(withToggled('', 'service', '')).toBe('NOT service=*');
    const rack = withToggled('', 'effective_rack', '');
    expect(rack).toBe('NOT effective_rack=* OR effective_rack=""');
    expect(chosenValues(rack, 'effective_rack')).toEqual(new Set(['']));
    expect(withToggled(rack, 'effective_rack', '')).toBe('');
  });

  it('quote values where necessary', () => {
    const filter = withToggled('', 'effective_rack', 'a "b" * c');
    expect(filterFault(filter)).toBeNull();
    expect(chosenValues(filter, 'effective_rack')).toEqual(new Set(['a "b" * c']));
  });

  it('are counted without their own selection, in one request where that is the same filter', () => {
    const groups = countGroups('phase=READY AND pool=gpu');
    expect(groups).toContainEqual({ filter: 'pool=gpu', fields: ['phase'] });
    expect(groups).toContainEqual({ filter: 'phase=READY', fields: ['pool'] });
    expect(groups).toHaveLength(3);
  });
});
