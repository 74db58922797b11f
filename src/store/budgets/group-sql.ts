/** The machines of a limit and the groups that they are in, as SQL over the columns of machines. */

import type { Occupant } from '../../domain/budget/budget-exceeded.ts';
import type { GroupField, Limit } from '../../domain/budget/limit.ts';
import { allowedOf } from '../../domain/rollout/spec/amount.ts';
import { MACHINE_FILTER_COLUMNS } from '../filter/machine-columns.ts';
import { scopeCondition } from '../filter/scope-condition.ts';
import type { SqlCondition, SqlValue } from '../filter/to-sql.ts';

/** The group's value, or NULL for a machine without one. */
function groupColumn(field: GroupField | null, firstParameter: number): SqlCondition {
  if (field === null) return { text: `''`, values: [] };
  if (field.attribute === 'labels')
    return { text: `(labels ->> $${firstParameter}::text)`, values: [field.label] };
  const column: unknown = MACHINE_FILTER_COLUMNS[field.attribute];
  if (typeof column !== 'string') throw new Error(`no column for ${field.attribute}`);
  return { text: column, values: [] };
}

/** A part of a statement that reads machines of one limit. */
export interface GroupSql {
  /** The group, never NULL. */
  readonly group: string;
  /** Which machines count, in the asked groups. */
  readonly condition: string;
  readonly values: readonly SqlValue[];
}

/** With `groups` null, every group. */
export function groupSql(
  { members, groupBy }: Pick<Limit, 'members' | 'groupBy'>,
  groups: readonly string[] | null,
  firstParameter: number,
): GroupSql {
  const values: SqlValue[] = [];
  const next = () => firstParameter + values.length;
  const column = groupColumn(groupBy, next());
  values.push(...column.values);
  const within = scopeCondition(members, next());
  values.push(...within.values);
  const group = `coalesce(${column.text}, '')`;
  if (groups === null || groupBy === null) return { group, condition: within.text, values };
  // Without the empty group the bare column is compared, so that an index serves it.
  const compared = groups.includes('') ? group : column.text;
  const asked = `${compared} = ANY($${next()}::text[])`;
  values.push([...groups]);
  return { group, condition: `${within.text} AND ${asked}`, values };
}

/** For a caller with a scope, all numbers are those of its machines: what it may not see is neither named nor counted. */
export interface GroupUse {
  /** Empty: machines without a value, or the only group. */
  readonly group: string;
  readonly unavailable: number;
  /** Those that are or were in service, and have not left it. */
  readonly machines: number;
  /** How many may be unavailable. */
  readonly allowed: number;
  /** Whether no other machine may become unavailable, by all machines of the group. */
  readonly isFull: boolean;
  /** The unavailable ones that the caller may see. */
  readonly occupants: readonly Occupant[];
}

export interface GroupUseRow extends Record<string, unknown> {
  grp: string;
  /** In the scope of the caller. */
  machines: number;
  unavailable: number;
  /** In all. */
  all_machines: number;
  all_unavailable: number;
  occupants: Occupant[] | null;
}

export function groupUseOf({ maxUnavailable }: Pick<Limit, 'maxUnavailable'>, row: GroupUseRow): GroupUse {
  return {
    group: row.grp,
    unavailable: row.unavailable,
    machines: row.machines,
    allowed: allowedOf(maxUnavailable, row.machines),
    isFull: row.all_unavailable >= allowedOf(maxUnavailable, row.all_machines),
    occupants: row.occupants ?? [],
  };
}
