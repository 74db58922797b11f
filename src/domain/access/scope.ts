/**
 * The machines that a caller may see and change: a filter over machines. Nothing outside it exists for the caller.
 *
 * A scope asks only for what operators write: ids, labels, specs and pools. States change by themselves, and a machine must not
 * leave its tenant because it was rebooted.
 */
import { Fault } from '../error/fault.ts';
import { checkFilter } from '../filter/check.ts';
import type { CheckedFilter } from '../filter/checked-filter.ts';
import { MACHINE_FILTER } from '../filter/machine-filter.ts';
import { parseFilter } from '../filter/parse.ts';
import { filterPredicate } from '../filter/predicate.ts';
import type { Machine } from '../machine/machine.ts';

export interface Scope {
  /** As it was written. */
  readonly text: string;
  readonly filter: CheckedFilter<Machine>;
  /** What the filter is an AND of, each in one spelling, sorted. */
  readonly terms: readonly string[];
  /** The same as the filter, for a machine in memory. */
  readonly contains: (machine: ScopedMachine) => boolean;
}

/** What of a machine a scope can ask for. */
export type ScopedMachine = Pick<Machine, 'machineId' | 'labels' | 'spec' | 'pool'>;

const MAX_TEXT = 2_000;
const WRITTEN: readonly string[] = ['machine_id', 'labels', 'pool', 'effective_rack'];

/** Null is the whole fleet. Throws the fault of an invalid filter. */
export function parseScope(text: string): Scope | null {
  if (text.trim() === '') return null;
  if (text.length > MAX_TEXT) throw invalidScope(`must be at most ${MAX_TEXT} characters`);
  const filter = checkedFilter(text);
  const changing = attributesOf(filter).find((name) => !WRITTEN.includes(name) && !name.startsWith('spec.'));
  if (changing !== undefined)
    throw invalidScope(`${changing} changes by itself; use labels, the spec, the pool or machine_id`);
  return { text, filter, terms: termsOf(filter), contains: filterPredicate(filter) as Scope['contains'] };
}

/** What both contain. A scope that has all terms of the other is that intersection already. */
export function narrowed(outer: Scope | null, inner: Scope | null): Scope | null {
  if (outer === null || inner === null) return outer ?? inner;
  return isInside(inner, outer) ? inner : parseScope(`(${outer.text}) AND (${inner.text})`);
}

/** Whether everything in one scope is in the other, as far as their terms show it. */
export function isInside(inner: Scope | null, outer: Scope | null): boolean {
  const terms = inner?.terms ?? [];
  return (outer?.terms ?? []).every((term) => terms.includes(term));
}

/** Whether a caller may read what belongs to the scope of these terms. The whole fleet reads everything. */
export function hasTerms(scope: Scope | null, terms: readonly string[]): boolean {
  return scope === null || terms.every((term) => scope.terms.includes(term));
}

function checkedFilter(text: string): CheckedFilter<Machine> {
  try {
    return checkFilter(parseFilter(text), MACHINE_FILTER);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw invalidScope(error.violations[0]?.description ?? error.message);
  }
}

function termsOf(filter: CheckedFilter<Machine>): string[] {
  const terms = filter.kind === 'and' ? filter.terms.flatMap(termsOf) : [spellingOf(filter)];
  return [...new Set(terms)].sort();
}

/** The same for `customer_id=acme` and `spec.customer_id = "acme"`. */
function spellingOf(filter: CheckedFilter<Machine>): string {
  return JSON.stringify(filter, (key, value) => (key === 'field' ? value.attribute : value));
}

function attributesOf(filter: CheckedFilter<Machine>): string[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.terms.flatMap(attributesOf);
    case 'not':
      return attributesOf(filter.term);
    default:
      return [filter.field.attribute];
  }
}

/** The same refusal whether a machine would leave the scope, or an id or address that it claims is another tenant's. */
export function machineOutOfScope(machineId: string, scope: Scope): Fault {
  return new Fault('OUT_OF_SCOPE', {
    message: `${machineId} must be inside the scope ${scope.text}, before and after, and its id and addresses must be free in it`,
    metadata: { machine_id: machineId, scope: scope.text },
  });
}

/** For what concerns the whole fleet. */
export function needsWholeFleet(what: string, scope: Scope): Fault {
  return new Fault('OUT_OF_SCOPE', {
    message: `${what} concerns the whole fleet; the caller has the scope ${scope.text}`,
    metadata: { scope: scope.text },
  });
}

function invalidScope(problem: string): Fault {
  return new Fault('INVALID_FILTER', {
    message: `scope: ${problem}`,
    metadata: { field: 'scope' },
    violations: [{ subject: 'scope', description: problem }],
  });
}
