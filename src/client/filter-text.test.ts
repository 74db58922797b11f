import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FilterNode } from '../domain/filter/ast.ts';
import { parseFilter } from '../domain/filter/parse.ts';
import { anyRestriction, filterOf } from '../domain/filter/sample-filter.fixture.ts';
import { allOf, anyOf, equals, labelEquals, printFilter } from './filter-text.ts';

/** Whatever the server can store; half a surrogate pair and NUL it can't. */
const text = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 40 })
  .filter((value) => !/[\0\p{Surrogate}]/u.test(value));

describe('a filter made of options', () => {
  it('is read by the server as what was typed, whatever was typed', () => {
    fc.assert(
      fc.property(text, text, (key, value) => {
        expect(parseFilter(labelEquals(key, value))).toMatchObject({
          kind: 'restriction',
          path: ['labels', key],
          comparator: '=',
          value: [value],
        });
      }),
    );
  });

  it('can’t be escaped by a value that contains filter syntax', () => {
    const filter = allOf(['phase=READY OR phase=MAINTENANCE', labelEquals('a', 'b OR phase=READY')]);
    expect(parseFilter(filter)).toMatchObject({
      kind: 'and',
      terms: [{ kind: 'or' }, { kind: 'restriction', value: ['b OR phase=READY'] }],
    });
  });

  it('leaves a lone filter, and plain values, as they are', () => {
    expect(allOf(['phase=READY', undefined, ' '])).toBe('phase=READY');
    expect(allOf([undefined])).toBe('');
    expect(anyOf([equals('operation_id', 'op-1'), equals('operation_id', 'op-2')])).toBe(
      'operation_id=op-1 OR operation_id=op-2',
    );
  });
});

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

describe('a filter that is printed', () => {
  it('parses to the tree that was printed', () => {
    fc.assert(
      fc.property(filterOf(anyRestriction), (node) => {
        expect(withoutOffsets(parseFilter(printFilter(node)))).toEqual(withoutOffsets(node));
      }),
    );
  });
});
