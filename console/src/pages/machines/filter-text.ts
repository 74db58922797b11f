/** Filters as text: what is wrong with one, how one is written, and what plain words mean. */

import { Fault } from '../../../../src/domain/error/fault.ts';
import type { FilterNode, Pattern, Restriction } from '../../../../src/domain/filter/ast.ts';
import { checkFilter } from '../../../../src/domain/filter/check.ts';
import { MACHINE_FILTER } from '../../../../src/domain/filter/machine-filter.ts';
import { parseFilter } from '../../../../src/domain/filter/parse.ts';

export interface FilterFault {
  readonly message: string;
  /** Where in the text, counted from 0. */
  readonly offset: number;
}

/** What the server would say of it: these are its own parser and its own fields. Null when it is well. */
export function filterFault(text: string): FilterFault | null {
  try {
    checkFilter(parseFilter(text), MACHINE_FILTER);
    return null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { message: error.message, offset: Number(error.metadata.position ?? 1) - 1 };
  }
}

const PLAIN_WORDS = /^[\w.*-]+(\s+[\w.*-]+)*$/;
const KEYWORD = /^(AND|OR|NOT)$/;

/**
 * The grammar has no words without a field, and people type them. A word means a machine whose id contains it; one with
 * a star means what the star says. Anything else stays as it is.
 */
export function withPlainWords(text: string): string {
  const trimmed = text.trim();
  if (!PLAIN_WORDS.test(trimmed)) return trimmed;
  const words = trimmed.split(/\s+/);
  if (words.some((word) => KEYWORD.test(word))) return trimmed;
  return words.map((word) => `machine_id${word.includes('*') ? '=' : ':'}${word}`).join(' AND ');
}

/** Reads as the same filter; not necessarily what somebody typed. */
export function printFilter(node: FilterNode): string {
  switch (node.kind) {
    case 'and':
      return node.terms.map((term) => within(term, ['and'])).join(' AND ');
    case 'or':
      return node.terms.map((term) => within(term, ['and', 'or'])).join(' OR ');
    case 'not':
      return `NOT ${within(node.term, ['and', 'or', 'not'])}`;
    case 'restriction':
      return printRestriction(node);
  }
}

function within(node: FilterNode, bracketed: readonly FilterNode['kind'][]): string {
  return bracketed.includes(node.kind) ? `(${printFilter(node)})` : printFilter(node);
}

function printRestriction({ path, comparator, value }: Restriction): string {
  return `${path.map(printName).join('.')}${comparator}${printValue(value)}`;
}

const BARE_NAME = /^[^\s()"'\\,.:*=!<>]+$/;
const BARE_VALUE = /^[^\s()"'\\,=!<>]+$/;

function printName(name: string, place: number): string {
  const isBare = BARE_NAME.test(name) && (place > 0 || !(KEYWORD.test(name) || name.startsWith('-')));
  return isBare ? name : inQuotes([name]);
}

/** A label may have dots in its name: as the parts of a path, they need no quotes. */
export function printPath(field: string): string {
  return field.split('.').map(printName).join('.');
}

export function printValue(value: Pattern): string {
  const text = value.join('*');
  const isBare = BARE_VALUE.test(text) && !KEYWORD.test(text) && !value.some((piece) => piece.includes('*'));
  return isBare ? text : inQuotes(value);
}

function inQuotes(pieces: readonly string[]): string {
  return `"${pieces.map((piece) => piece.replace(/["\\*]/g, '\\$&')).join('*')}"`;
}
