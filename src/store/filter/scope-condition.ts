/** Scopes as conditions for WHERE. What is outside of the caller's scope is left out by the statement itself. */
import type { Scope } from '../../domain/access/scope.ts';
import type { Session } from '../database/database.ts';
import { MACHINE_FILTER_COLUMNS } from './machine-columns.ts';
import { filterToSql, type SqlCondition } from './to-sql.ts';

const EVERYTHING: SqlCondition = { text: 'TRUE', values: [] };

/** Over rows of machines; its columns have no prefix. */
export function scopeCondition(scope: Scope | null, firstParameter: number): SqlCondition {
  return scope === null ? EVERYTHING : filterToSql(scope.filter, MACHINE_FILTER_COLUMNS, firstParameter);
}

/** Over rows of any table that has the id of a machine in the given column. */
export function inScope(scope: Scope | null, column: string, firstParameter: number): SqlCondition {
  if (scope === null) return EVERYTHING;
  const { text, values } = scopeCondition(scope, firstParameter);
  return { text: `${column} IN (SELECT machine_id FROM machines WHERE ${text})`, values };
}

/** Statements with a scope are as many as there are scopes, so only those without one are prepared. */
export function preparedAs(name: string, scope: Scope | null): string {
  return scope === null ? name : '';
}

/** Those of the machines that are in the scope. */
export async function idsInScope(
  session: Session,
  scope: Scope,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const { text, values } = scopeCondition(scope, 2);
  const rows = await session.run<{ machine_id: string }>(
    '',
    `SELECT machine_id FROM machines WHERE machine_id = ANY($1) AND ${text}`,
    [[...new Set(ids)], ...values],
  );
  return new Set(rows.map((row) => row.machine_id));
}

/**
 * Over rows that belong to a scope, which is in the column scope_terms: a caller reads those that all share, those of its own
 * scope, and those of a scope that its own is inside of.
 */
export function readableIn(scope: Scope | null, parameter: number): SqlCondition {
  if (scope === null) return EVERYTHING;
  return { text: `scope_terms <@ $${parameter}::text[]`, values: [scope.terms] };
}
