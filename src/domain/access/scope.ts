/** The machines that a caller may see and change: a filter over machines. Nothing outside it exists for the caller. */
import { checkFilter } from '../filter/check.ts';
import type { CheckedFilter } from '../filter/checked-filter.ts';
import { MACHINE_FILTER } from '../filter/machine-filter.ts';
import { parseFilter } from '../filter/parse.ts';
import type { Machine } from '../machine/machine.ts';

export interface Scope {
  /** As it was written. */
  readonly text: string;
  readonly filter: CheckedFilter<Machine>;
}

/** @public Null is the whole fleet. Throws the fault of an invalid filter. */
export function parseScope(text: string): Scope | null {
  if (text.trim() === '') return null;
  return { text, filter: checkFilter(parseFilter(text), MACHINE_FILTER) };
}
