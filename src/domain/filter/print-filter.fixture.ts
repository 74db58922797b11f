/** Writes a filter in one of the many ways that it may be written. */
import type { FilterNode, Pattern } from './ast.ts';

/** Chooses between two ways to say the same. */
export type Coin = () => boolean;

export function coinFrom(sides: readonly boolean[]): Coin {
  let tosses = 0;
  return () => sides[tosses++ % sides.length] ?? false;
}

export function printFilter(node: FilterNode, coin: Coin): string {
  switch (node.kind) {
    case 'and':
      return node.terms
        .map((term) => (term.kind === 'and' ? `(${printFilter(term, coin)})` : printFilter(term, coin)))
        .join(coin() ? ' AND ' : ' ');
    case 'or':
      return node.terms
        .map((term) => (isJunction(term) ? `(${printFilter(term, coin)})` : printFilter(term, coin)))
        .join(coin() ? ' OR ' : '\n OR\t');
    case 'not': {
      const term = printFilter(node.term, coin);
      const simple = node.term.kind === 'restriction' ? term : `( ${term} )`;
      return (coin() ? 'NOT ' : '-') + simple;
    }
    case 'restriction': {
      const path = node.path.map((name, index) => printName(name, index)).join('.');
      const space = coin() ? ' ' : '';
      return path + space + node.comparator + space + printValue(node.value, coin);
    }
  }
}

function isJunction(node: FilterNode): boolean {
  return node.kind === 'and' || node.kind === 'or';
}

function printName(name: string, index: number): string {
  const bare = /^[^\s()"'\\,.:*=!<>]+$/.test(name);
  const startsLikeAName = index > 0 || !/^(-|(AND|OR|NOT)$)/.test(name);
  return bare && startsLikeAName ? name : printQuoted([name], '"');
}

function printValue(value: Pattern, coin: Coin): string {
  const text = value.join('*');
  const isBare = /^[^\s()"'\\,=!<>]+$/.test(text) && !/^(AND|OR|NOT)$/.test(text);
  if (isBare && coin() && !value.some((piece) => piece.includes('*'))) return text;
  return printQuoted(value, coin() ? '"' : "'");
}

function printQuoted(pieces: readonly string[], quote: string): string {
  const special = quote === '"' ? /["\\*]/g : /['\\*]/g;
  return quote + pieces.map((piece) => piece.replace(special, '\\$&')).join('*') + quote;
}
