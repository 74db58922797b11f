/** Composes filters in the server's grammar: `--filter` and every `-l` are joined with AND. */
import { quote } from '../../domain/filter/quote.ts';

const BARE = /^[A-Za-z0-9_/][A-Za-z0-9_/-]*$/;
const BARE_VALUE = /^[A-Za-z0-9._/-]+$/;
const KEYWORDS = new Set(['AND', 'OR', 'NOT']);

function name(text: string): string {
  return BARE.test(text) && !KEYWORDS.has(text) ? text : quote(text);
}

function value(text: string): string {
  return BARE_VALUE.test(text) && !KEYWORDS.has(text) ? text : quote(text);
}

export function equals(field: string, text: string): string {
  return `${field}=${value(text)}`;
}

export function labelEquals(key: string, text: string): string {
  return equals(`labels.${name(key)}`, text);
}

export function anyOf(terms: readonly string[]): string {
  return terms.join(' OR ');
}

export function allOf(terms: readonly (string | undefined)[]): string {
  const given = terms.filter((term) => term !== undefined && term.trim() !== '');
  return given.length === 1 ? (given[0] ?? '') : given.map((term) => `(${term})`).join(' AND ');
}
