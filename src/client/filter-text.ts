/** Filters as text, in the server's grammar: for the options of the CLI, and for the console. */
import type { FilterNode, Pattern, Restriction } from '../domain/filter/ast.ts';
import { quote } from '../domain/filter/quote.ts';

export function equals(field: string, text: string): string {
  return `${field}=${printValue([text])}`;
}

export function labelEquals(key: string, text: string): string {
  return printRestriction({ path: ['labels', key], comparator: '=', value: [text] });
}

export function anyOf(terms: readonly string[]): string {
  return terms.join(' OR ');
}

/** Joins the terms with AND; empty ones are left out. The brackets keep an OR in a term together. */
export function allOf(terms: readonly (string | undefined)[]): string {
  const present = terms.filter((term) => term !== undefined && term.trim() !== '');
  return present.length === 1 ? (present[0] ?? '') : present.map((term) => `(${term})`).join(' AND ');
}

/** Prints a filter that parses to the same tree; not necessarily the text that was typed. */
export function printFilter(node: FilterNode): string {
  switch (node.kind) {
    case 'and':
      return node.terms.map((term) => inBrackets(term, ['and'])).join(' AND ');
    case 'or':
      return node.terms.map((term) => inBrackets(term, ['and', 'or'])).join(' OR ');
    case 'not':
      return `NOT ${inBrackets(node.term, ['and', 'or', 'not'])}`;
    case 'restriction':
      return printRestriction(node);
  }
}

/** A label may have dots in its name: read as parts of the path, they need no quotes. */
export function printPath(field: string): string {
  return field.split('.').map(printName).join('.');
}

export function printValue(value: Pattern): string {
  const text = value.join('*');
  const isBare = BARE_VALUE.test(text) && !KEYWORD.test(text) && !value.some((piece) => piece.includes('*'));
  return isBare ? text : inQuotes(value);
}

const KEYWORD = /^(AND|OR|NOT)$/;
const BARE_NAME = /^[^\s()"'\\,.:*=!<>]+$/;
const BARE_VALUE = /^[^\s()"'\\,=!<>]+$/;

function inBrackets(node: FilterNode, bracketed: readonly FilterNode['kind'][]): string {
  return bracketed.includes(node.kind) ? `(${printFilter(node)})` : printFilter(node);
}

function printRestriction({ path, comparator, value }: Omit<Restriction, 'kind' | 'offset'>): string {
  return `${path.map(printName).join('.')}${comparator}${printValue(value)}`;
}

function printName(name: string, index: number): string {
  const isBare = BARE_NAME.test(name) && (index > 0 || !(KEYWORD.test(name) || name.startsWith('-')));
  return isBare ? name : quote(name);
}

function inQuotes(pieces: readonly string[]): string {
  return `"${pieces.map((piece) => quote(piece).slice(1, -1)).join('*')}"`;
}
