/** Filters as text: checking, and the meaning of plain words. */

import { Fault } from '../../../../src/domain/error/fault.ts';
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
