import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '../error/fault.ts';
import type { FilterNode } from './ast.ts';
import { FILTER_LIMITS, parseFilter } from './parse.ts';
import { coinFrom, printFilter } from './print-filter.fixture.ts';
import { anyRestriction, filterOf } from './sample-filter.fixture.ts';

/** A filter with every parenthesis that its meaning has. */
function shape(node: FilterNode): string {
  switch (node.kind) {
    case 'and':
    case 'or':
      return `(${node.terms.map(shape).join(` ${node.kind} `)})`;
    case 'not':
      return `!${shape(node.term)}`;
    case 'restriction':
      return `${node.path.join('/')}${node.comparator}${node.value.join('~')}`;
  }
}

const parsed = (text: string) => shape(parseFilter(text));

function faultOf(text: string): Fault {
  try {
    parseFilter(text);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error(`parsed: ${text}`);
}

describe('precedence', () => {
  it.each([
    ['a=1 AND b=2 OR c=3', '(a=1 and (b=2 or c=3))'],
    ['a=1 OR b=2 AND c=3', '((a=1 or b=2) and c=3)'],
    ['a=1 b=2 OR c=3', '(a=1 and (b=2 or c=3))'],
    ['a=1 b=2 AND c=3', '(a=1 and b=2 and c=3)'],
    ['(a=1 AND b=2) OR c=3', '((a=1 and b=2) or c=3)'],
    ['NOT a=1 OR b=2', '(!a=1 or b=2)'],
    ['-a=1 b=2', '(!a=1 and b=2)'],
    ['-(a=1 OR b=2)', '!(a=1 or b=2)'],
    ['NOT(a=1)', '!a=1'],
    ['a=1 OR NOT b=2 OR c=3', '(a=1 or !b=2 or c=3)'],
    ['((a=1))', 'a=1'],
  ])('%s', (text, expected) => {
    expect(parsed(text)).toBe(expected);
  });
});

describe('fields and values', () => {
  it.each([
    ['machine_id=m-1', 'machine_id=m-1'],
    ['created_at>2026-01-01T00:00:00Z', 'created_at>2026-01-01T00:00:00Z'],
    ['spec.ssh_endpoint=10.0.0.1:22', 'spec/ssh_endpoint=10.0.0.1:22'],
    ['spec.ip=::1', 'spec/ip=::1'],
    ['attempts >= -5', 'attempts>=-5'],
    ['a<=1 b<1 c!=1', '(a<=1 and b<1 and c!=1)'],
    ['labels.rack=r42', 'labels/rack=r42'],
    ['labels.fake/step-ms=10', 'labels/fake/step-ms=10'],
    ['labels."a b"=x', 'labels/a b=x'],
    ['labels.AND=x', 'labels/AND=x'],
    ['labels."*"=x', 'labels/*=x'],
    ['labels.rack:*', 'labels/rack:~'],
    ['a=pre*', 'a=pre~'],
    ['a="*.foo"', 'a=~.foo'],
    ['a=x*y*z', 'a=x~y~z'],
    ['a="2 \\* 3"', 'a=2 * 3'],
    ['a="say \\"hi\\" \\\\ \'there\'"', 'a=say "hi" \\ \'there\''],
    ['a=\'it is "fine"\'', 'a=it is "fine"'],
    ['a="\\n\\t"', 'a=\n\t'],
    ['a="AND"', 'a=AND'],
    ['a=""', 'a='],
    ['ORDER=1 NOTE=2', '(ORDER=1 and NOTE=2)'],
    ['', '()'],
    ['  \n', '()'],
  ])('%s', (text, expected) => {
    expect(parsed(text)).toBe(expected);
  });
});

describe('what is refused', () => {
  it.each([
    ['a=1 AND )', "unexpected ')' at position 9, expected a field name"],
    ['a=1 AND', 'unexpected end at position 8, expected a field name'],
    ['OR a=1', "unexpected 'OR' at position 1, expected a field name"],
    ['a=1 OR OR b=2', "unexpected 'OR' at position 8, expected a field name"],
    ['a=1)', "unexpected ')' at position 4, expected AND, OR or the end"],
    ['(a=1', "unexpected end at position 5, expected ')' for the '(' at position 1"],
    ['()', "unexpected ')' at position 2, expected a field name"],
    ['prod', "unexpected end at position 5, expected a comparator after 'prod'"],
    [
      'a=1 and b=2',
      "unexpected 'b' at position 9, expected a comparator after 'and' (AND is written in upper case)",
    ],
    ['a=', 'unexpected end at position 3, expected a value'],
    ['a==1', "unexpected '=' at position 3, expected a value"],
    ['a=!1', "unexpected '!' at position 3, expected a value"],
    ['a=OR', `unexpected 'OR' at position 3, expected a value (or "OR" in quotes)`],
    [
      'a=1, b=2',
      `unexpected ',' at position 4, expected a space (a value with special characters needs quotes)`,
    ],
    [
      'a="it"s"',
      `unexpected 's' at position 7, expected a space (a value with special characters needs quotes)`,
    ],
    [
      'a=f(x)',
      `unexpected '(' at position 4, expected a space (a value with special characters needs quotes)`,
    ],
    ['a.=1', "unexpected '=' at position 3, expected a field name"],
    ['a*=1', "unexpected '*' at position 2, expected a comparator after 'a'"],
    ['NOT NOT a=1', "unexpected 'NOT' at position 5, expected a field name"],
    ['b a="x', "unexpected 'a' at position 3, expected a comparator after 'b'"],
    ['a="x', 'no closing " for the quote at position 3'],
    ['a="x\\', `unknown escape at position 5, expected \\" \\' \\\\ \\* \\n \\r \\t`],
    ['a=\0', 'a character that is not text at position 3'],
    ['a=\ud800', 'a character that is not text at position 3'],
  ])('%s', (text, description) => {
    const fault = faultOf(text);
    expect(fault.message).toBe(`filter: ${description}`);
    expect(fault).toMatchObject({
      kind: 'invalid_argument',
      reason: 'INVALID_FILTER',
      violations: [{ subject: 'filter', description }],
    });
  });

  it('repeats only the start of a long word', () => {
    expect(faultOf('x'.repeat(4000)).message.length).toBeLessThan(200);
  });
});

describe('limits', () => {
  const nested = (depth: number) => `${'('.repeat(depth)}a=1${')'.repeat(depth)}`;
  const listed = (count: number) => Array(count).fill('a=1').join(' ');
  const long = (length: number) => `a=${'x'.repeat(length - 2)}`;

  it.each([
    ['length', long, FILTER_LIMITS.length],
    ['depth', nested, FILTER_LIMITS.depth],
    ['comparisons', listed, FILTER_LIMITS.restrictions],
  ])('hold the %s', (_, filterOfSize, limit) => {
    expect(() => parseFilter(filterOfSize(limit))).not.toThrow();
    expect(faultOf(filterOfSize(limit + 1)).message).toContain(String(limit));
  });

  it('count the depth of parentheses, not their number', () => {
    expect(() => parseFilter(Array(100).fill('((a=1))').join(' '))).not.toThrow();
  });
});

describe('properties', () => {
  it('whatever is written is read back', () => {
    fc.assert(
      fc.property(
        filterOf(anyRestriction),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }),
        (filter, sides) => {
          const text = printFilter(filter, coinFrom(sides));
          fc.pre(text.length <= FILTER_LIMITS.length);
          expect(withoutOffsets(parseFilter(text))).toEqual(filter);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('any text at all is read or refused with a fault', () => {
    const words = fc.constantFrom(
      '(',
      ')',
      '"',
      "'",
      '\\',
      ' ',
      '-',
      ':',
      '=',
      '!=',
      '*',
      'a',
      '.',
      'AND',
      'OR',
      'NOT ',
    );
    const almostFilter = fc.array(words, { maxLength: 60 }).map((list) => list.join(''));
    fc.assert(
      fc.property(fc.oneof(almostFilter, fc.string({ unit: 'binary' })), (text) => {
        try {
          parseFilter(text);
        } catch (error) {
          expect(error).toBeInstanceOf(Fault);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('the worst text of the greatest length is read or refused at once', () => {
    for (const unit of [
      '(',
      '-',
      '"',
      "'",
      '\\',
      ' ',
      '*',
      'a',
      'a.',
      '""',
      'AND',
      'OR ',
      'a=1 ',
      'a=* ',
      'a="*',
      '-(',
      ':a',
    ]) {
      const text = unit.repeat(FILTER_LIMITS.length).slice(0, FILTER_LIMITS.length);
      const prefixed = `a="${text}`.slice(0, FILTER_LIMITS.length);
      const start = process.cpuUsage();
      for (const candidate of [text, prefixed]) {
        try {
          parseFilter(candidate);
        } catch (error) {
          expect(error).toBeInstanceOf(Fault);
        }
      }
      expect(process.cpuUsage(start).user, unit).toBeLessThan(200_000);
    }
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
