/** Filters as text: checking, printing, and the meaning of plain words. */

import { Fault } from '../../../../src/domain/error/fault.ts';
import type { FilterNode, Pattern, Restriction } from '../../../../src/domain/filter/ast.ts';
import { checkFilter } from '../../../../src/domain/filter/check.ts';
import { MACHINE_FILTER } from '../../../../src/domain/filter/machine-filter.ts';
import { parseFilter } from '../../../../src/domain/filter/parse.ts';

export interface FilterFault {
  readonly message: string;
  /** The position in the text, counted from 0. */
  readonly offset: number;
}

/** The error that the server would return, from the same parser and fields; null if the filter is valid. */
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
 * The grammar has no words without a field, but people type them. A word means a machine whose id contains it; one with
 * a `*` is a pattern for the id. Anything else is returned unchanged.
 */
export function withPlainWords(text: string): string {
  const trimmed = text.trim();
  if (!PLAIN_WORDS.test(trimmed)) return trimmed;
  const words = trimmed.split(/\s+/);
  if (words.some((word) => KEYWORD.test(word))) return trimmed;
  return words.map((word) => `machine_id${word.includes('*') ? '=' : ':'}${word}`).join(' AND ');
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

function inBrackets(node: FilterNode, bracketed: readonly FilterNode['kind'][]): string {
  return bracketed.includes(node.kind) ? `(${printFilter(node)})` : printFilter(node);
}

function printRestriction({ path, comparator, value }: Restriction): string {
  return `${path.map(printName).join('.')}${comparator}${printValue(value)}`;
}

const BARE_NAME = /^[^\s()"'\\,.:*=!<>]+$/;
const BARE_VALUE = /^[^\s()"'\\,=!<>]+$/;

function printName(name: string, index: number): string {
  const isBare = BARE_NAME.test(name) && (index > 0 || !(KEYWORD.test(name) || name.startsWith('-')));
  return isBare ? name : inQuotes([name]);
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

function inQuotes(pieces: readonly string[]): string {
  return `"${pieces.map((piece) => piece.replace(/["\\*]/g, '\\$&')).join('*')}"`;
}
