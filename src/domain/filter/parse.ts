/**
 * The one filter grammar of every API, the CLI and the console: a subset of AIP-160
 * (https://google.aip.dev/160).
 *
 *   filter      = [ expression ]
 *   expression  = factor { [ "AND" ] factor }        juxtaposition is AND
 *   factor      = term { "OR" term }
 *   term        = [ "NOT" | "-" ] simple
 *   simple      = "(" expression ")" | restriction
 *   restriction = path comparator value
 *   path        = name { "." name }                  labels.rack, labels."a b", labels.fake/step-ms
 *   comparator  = "=" | "!=" | "<" | "<=" | ">" | ">=" | ":"
 *
 * Precedence, as in AIP-160 and unlike most languages: NOT binds tightest, then OR, then AND. So
 * `a=1 AND b=2 OR c=3` is `a=1 AND (b=2 OR c=3)`, and `-a=1 OR b=2` is `(NOT a=1) OR b=2`.
 *
 * Values are bare (`10.0.0.1:22`) or in double or single quotes, where a backslash escapes. In both, `*`
 * stands for any text; `\*` in quotes is a star. Keywords are upper case. The empty filter matches all.
 *
 * AIP-160 also has literals without a field, functions, and `a=(b OR c)`. These are refused.
 *
 * The text is not trusted: it is parsed in one pass, and its length, depth and size are limited.
 */
import type { FilterNode } from './ast.ts';
import { invalidFilter } from './invalid-filter.ts';
import { Scanner } from './scanner.ts';

export const FILTER_LIMITS = { length: 4096, depth: 50, restrictions: 200 } as const;

/** PostgreSQL can't hold NUL, and UTF-8 can't hold half a surrogate pair: no row could ever match them. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;

export function parseFilter(text: string): FilterNode {
  if (text.length > FILTER_LIMITS.length) {
    throw invalidFilter({
      problem: `longer than ${FILTER_LIMITS.length} characters`,
      offset: FILTER_LIMITS.length,
    });
  }
  const unstorable = text.search(UNSTORABLE);
  if (unstorable >= 0) throw invalidFilter({ problem: 'a character that is not text', offset: unstorable });

  const parser: Parser = { scanner: new Scanner(text), depth: 0, restrictions: 0 };
  parser.scanner.skipSpace();
  if (parser.scanner.atEnd()) return { kind: 'and', terms: [] };
  const filter = parseExpression(parser);
  if (!parser.scanner.atEnd()) throw parser.scanner.unexpected('AND, OR or the end');
  return filter;
}

interface Parser {
  readonly scanner: Scanner;
  depth: number;
  restrictions: number;
}

// Each of these starts at its first character and leaves the scanner after the space that follows it.

function parseExpression(parser: Parser): FilterNode {
  const { scanner } = parser;
  const first = parseFactor(parser);
  const terms = [first];
  while (!scanner.atEnd() && !scanner.isNext(')')) {
    if (scanner.takeKeyword('AND')) scanner.skipSpace();
    terms.push(parseFactor(parser));
  }
  return terms.length === 1 ? first : { kind: 'and', terms };
}

function parseFactor(parser: Parser): FilterNode {
  const { scanner } = parser;
  const first = parseTerm(parser);
  const terms = [first];
  while (scanner.takeKeyword('OR')) {
    scanner.skipSpace();
    terms.push(parseTerm(parser));
  }
  return terms.length === 1 ? first : { kind: 'or', terms };
}

function parseTerm(parser: Parser): FilterNode {
  const { scanner } = parser;
  const negated = scanner.takeKeyword('NOT') || scanner.take('-');
  if (negated) scanner.skipSpace();
  const term = scanner.isNext('(') ? parseComposite(parser) : parseRestriction(parser);
  return negated ? { kind: 'not', term } : term;
}

function parseComposite(parser: Parser): FilterNode {
  const { scanner } = parser;
  const open = scanner.offset;
  parser.depth += 1;
  if (parser.depth > FILTER_LIMITS.depth) {
    throw invalidFilter({
      problem: `more than ${FILTER_LIMITS.depth} parentheses inside each other`,
      offset: open,
    });
  }
  scanner.take('(');
  scanner.skipSpace();
  const expression = parseExpression(parser);
  if (!scanner.take(')')) throw scanner.unexpected(`')' for the '(' at position ${open + 1}`);
  scanner.skipSpace();
  parser.depth -= 1;
  return expression;
}

function parseRestriction(parser: Parser): FilterNode {
  const { scanner } = parser;
  const offset = scanner.offset;
  parser.restrictions += 1;
  if (parser.restrictions > FILTER_LIMITS.restrictions) {
    throw invalidFilter({ problem: `more than ${FILTER_LIMITS.restrictions} comparisons`, offset });
  }
  const path = scanner.takePath();
  scanner.skipSpace();
  const comparator = scanner.takeComparator(path);
  scanner.skipSpace();
  const value = scanner.takeValue();
  scanner.skipSpace();
  return { kind: 'restriction', path, comparator, value, offset };
}
