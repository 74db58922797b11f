import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FilterNode } from '../../../../src/domain/filter/ast.ts';
import { parseFilter } from '../../../../src/domain/filter/parse.ts';
import { anyRestriction, filterOf } from '../../../../src/domain/filter/sample-filter.fixture.ts';
import { filterFault, printFilter, withPlainWords } from './filter-text.ts';

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
  it('parses to the tree that was printed', () => {
    fc.assert(
      fc.property(filterOf(anyRestriction), (node) => {
        expect(withoutOffsets(parseFilter(printFilter(node)))).toEqual(withoutOffsets(node));
      }),
    );
  });

  it("has the error and its position, with the server's message", () => {
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

  it('turns plain words into filters that the server accepts', () => {
    const word = fc.stringMatching(/^[\w.*-]{1,8}$/).filter((text) => !/^(AND|OR|NOT)$/.test(text));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 3 }), (words) => {
        expect(filterFault(withPlainWords(words.join(' ')))).toBeNull();
      }),
    );
  });
});
