import type { Scope } from '../../domain/access/scope.ts';
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { MACHINE_FILTER_COLUMNS } from '../filter/machine-columns.ts';
import { scopeCondition } from '../filter/scope-condition.ts';
import { filterToSql, type SqlCondition } from '../filter/to-sql.ts';

/** Which machines a caller with a scope finds with a filter. */
export interface MachineSelection {
  readonly filter: CheckedFilter<Machine> | null;
  readonly scope: Scope | null;
}

/** Deleted machines are left out, unless the filter asks for the service state. */
export function machineCondition({ filter, scope }: MachineSelection, firstParameter: number): SqlCondition {
  const found = foundBy(filter, firstParameter);
  if (scope === null) return found;
  const within = scopeCondition(scope, firstParameter + found.values.length);
  return { text: `${found.text} AND ${within.text}`, values: [...found.values, ...within.values] };
}

function foundBy(filter: CheckedFilter<Machine> | null, firstParameter: number): SqlCondition {
  const inventory = `service IS DISTINCT FROM 'deleted'`;
  if (filter === null) return { text: inventory, values: [] };
  const { text, values } = filterToSql(filter, MACHINE_FILTER_COLUMNS, firstParameter);
  return { text: asksForService(filter) ? `(${text})` : `${inventory} AND (${text})`, values };
}

function asksForService(filter: CheckedFilter<Machine>): boolean {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.terms.some(asksForService);
    case 'not':
      return asksForService(filter.term);
    default:
      return filter.field.attribute === 'service';
  }
}
