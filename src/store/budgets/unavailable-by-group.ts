/** How much of each limit is used now, and by which machines: for previews, consoles, and refusals. */
import type { Scope } from '../../domain/access/scope.ts';
import type { Limit } from '../../domain/budget/limit.ts';
import type { Session } from '../database/database.ts';
import { scopeCondition } from '../filter/scope-condition.ts';
import { IN_SERVICE_CONDITION, UNAVAILABLE_COLUMN } from '../machines/availability-column.ts';
import { type GroupUse, type GroupUseRow, groupSql, groupUseOf } from './group-sql.ts';

export interface UseRequest {
  /**
   * Machines outside of it are neither counted nor named, but for whether a group is full; groups without a machine inside it are
   * left out. Null: the whole fleet.
   */
  readonly scope: Scope | null;
  /** How many occupants of a group are named at most. */
  readonly maxOccupants: number;
  /** Only these groups, for each limit; without it all. */
  readonly groups?: ReadonlyMap<Limit, readonly string[]>;
}

/** For each limit its groups: those that are full first, then those with the least left, then by name. */
export async function unavailableByGroup(
  session: Session,
  limits: readonly Limit[],
  request: UseRequest,
): Promise<GroupUse[][]> {
  const uses: GroupUse[][] = [];
  for (const limit of limits) uses.push(await groupUses(session, limit, request));
  return uses;
}

async function groupUses(
  session: Session,
  limit: Limit,
  { scope, maxOccupants, groups }: UseRequest,
): Promise<GroupUse[]> {
  const { group, condition, values } = groupSql(limit, groups?.get(limit) ?? null, 2);
  const visible = scopeCondition(scope, 2 + values.length);
  const rows = await session.run<GroupUseRow>(
    '',
    `SELECT grp, count(*) FILTER (WHERE visible) AS machines, count(reason) FILTER (WHERE visible) AS unavailable,
       count(*) AS all_machines, count(reason) AS all_unavailable,
       to_jsonb((array_agg(jsonb_build_object('machineId', machine_id, 'reason', reason, 'operationId', active_operation_id,
         'operationType', active_operation_type) ORDER BY machine_id)
         FILTER (WHERE reason IS NOT NULL AND visible))[1:$1::integer]) AS occupants
     FROM (SELECT machine_id, ${group} AS grp, ${UNAVAILABLE_COLUMN} AS reason, active_operation_id,
         active_operation_type, (${visible.text}) IS TRUE AS visible
       FROM machines WHERE ${IN_SERVICE_CONDITION} AND ${condition}) AS m
     GROUP BY grp HAVING bool_or(visible) ORDER BY grp`,
    [maxOccupants, ...values, ...visible.values],
  );
  const left = ({ allowed, unavailable }: GroupUse) => allowed - unavailable;
  return rows
    .map((row) => groupUseOf(limit, row))
    .toSorted((one, other) => Number(other.isFull) - Number(one.isFull) || left(one) - left(other));
}
