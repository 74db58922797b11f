import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chosenValues,
  countGroups,
  withoutFacet,
  withToggled,
} from '../../console/src/pages/machines/facet-filter.ts';
import { filterFault, printFilter, withPlainWords } from '../../console/src/pages/machines/filter-text.ts';
import { anyRestriction, filterOf } from '../../src/domain/filter/arbitrary.ts';
import type { FilterNode } from '../../src/domain/filter/ast.ts';
import { parseFilter } from '../../src/domain/filter/parse.ts';

function withoutOffsets(node: FilterNode): FilterNode {
  switch (node.kind) {
    case 'and':
    case 'or':
      return { ...node, terms: node.terms.map(withoutOffsets) };
    case 'not':
      return { ...node, term: withoutOffsets(node.term) };
    case 'restriction':
      return { ...node, offset: 0 };
  }
}

describe('a filter as text', () => {
  it('is read back as what was printed, whatever it holds', () => {
    fc.assert(
      fc.property(filterOf(anyRestriction), (node) => {
        expect(withoutOffsets(parseFilter(printFilter(node)))).toEqual(withoutOffsets(node));
      }),
    );
  });

  it('says what is wrong and where, in the server’s words', () => {
    expect(filterFault('phase=READY AND rock=r1')).toEqual({
      message: expect.stringContaining("filter: unknown field 'rock' at position 17"),
      offset: 16,
    });
    expect(filterFault('phase=READY AND labels.rack=r1')).toBeNull();
    expect(filterFault('')).toBeNull();
  });

  it.each([
    ['web-1', 'machine_id:web-1'],
    ['  rack7 web ', 'machine_id:rack7 AND machine_id:web'],
    ['web-*', 'machine_id=web-*'],
    ['phase=READY', 'phase=READY'],
    ['this OR that', 'this OR that'],
    ['(web)', '(web)'],
    ['', ''],
  ])('takes the plain words %j for %j', (typed, filter) => {
    expect(withPlainWords(typed)).toBe(filter);
  });

  it('makes filters of plain words that the server takes', () => {
    const word = fc.stringMatching(/^[\w.*-]{1,8}$/).filter((text) => !/^(AND|OR|NOT)$/.test(text));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 3 }), (words) => {
        expect(filterFault(withPlainWords(words.join(' ')))).toBeNull();
      }),
    );
  });
});

describe('facets', () => {
  it('add a value to the filter, then another, and take them away again', () => {
    const one = withToggled('labels.env=prod', 'phase', 'READY');
    expect(one).toBe('labels.env=prod AND phase=READY');
    const two = withToggled(one, 'phase', 'MAINTENANCE');
    expect(two).toBe('labels.env=prod AND phase=READY OR phase=MAINTENANCE');
    expect(chosenValues(two, 'phase')).toEqual(new Set(['READY', 'MAINTENANCE']));
    expect(withToggled(withToggled(two, 'phase', 'READY'), 'phase', 'MAINTENANCE')).toBe('labels.env=prod');
  });

  it('keep the rest of the filter as it was meant, OR and AND included', () => {
    const filter = withToggled('labels.a=1 OR labels.b=2', 'pool', 'gpu');
    expect(filter).toBe('labels.a=1 OR labels.b=2 AND pool=gpu');
    expect(withoutOffsets(parseFilter(filter))).toEqual(
      withoutOffsets(parseFilter('(labels.a=1 OR labels.b=2) AND pool=gpu')),
    );
  });

  it('find what was typed by hand, in any case of a state', () => {
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
  ])('leave %j alone: it is no choice of values', (filter) => {
    expect(chosenValues(filter, 'phase')).toEqual(new Set());
    expect(withoutFacet(filter, 'phase')).toBe(filter);
  });

  it('have a value for machines that have none, of a state and of a text', () => {
    expect(withToggled('', 'service', '')).toBe('NOT service=*');
    const rack = withToggled('', 'effective_rack', '');
    expect(rack).toBe('NOT effective_rack=* OR effective_rack=""');
    expect(chosenValues(rack, 'effective_rack')).toEqual(new Set(['']));
    expect(withToggled(rack, 'effective_rack', '')).toBe('');
  });

  it('quote what needs it', () => {
    const filter = withToggled('', 'effective_rack', 'a "b" * c');
    expect(filterFault(filter)).toBeNull();
    expect(chosenValues(filter, 'effective_rack')).toEqual(new Set(['a "b" * c']));
  });

  it('are counted without their own choice, and together where that is the same filter', () => {
    const groups = countGroups('phase=READY AND pool=gpu');
    expect(groups).toContainEqual({ filter: 'pool=gpu', fields: ['phase'] });
    expect(groups).toContainEqual({ filter: 'phase=READY', fields: ['pool'] });
    expect(groups).toHaveLength(3);
  });
});
