/** The groups of a limit that the machines of a rollout are in, as far as the rollout has not ended with them. */
import type { Limit } from '../../domain/budget/limit.ts';
import { groupSql } from '../budgets/group-sql.ts';
import type { Session } from '../database/database.ts';
import type { SqlValue } from '../filter/to-sql.ts';

export async function groupsOfRollout(
  session: Session,
  limit: Pick<Limit, 'members' | 'groupBy'>,
  rolloutId: string,
): Promise<string[]> {
  const { group, condition, values } = groupSql(limit, null, 2);
  const rows = await session.run<{ grp: string }>(
    '',
    `SELECT DISTINCT ${group} AS grp FROM machines WHERE machine_id IN (
       SELECT r.machine_id FROM rollout_machines r WHERE r.rollout_id = $1 AND r.state IN ('pending', 'running'))
     AND ${condition}`,
    [rolloutId, ...values],
  );
  return rows.map(({ grp }) => grp);
}

/** The groups that a pass counts its machines by, after other limits were set. Machines that are done are counted no more. */
export async function regroupMachines(
  session: Session,
  rolloutId: string,
  limits: readonly Pick<Limit, 'members' | 'groupBy'>[],
): Promise<void> {
  const values: SqlValue[] = [];
  const groups = limits.map((limit) => {
    const sql = groupSql(limit, null, values.length + 2);
    values.push(...sql.values);
    return `CASE WHEN ${sql.condition} THEN '=' || ${sql.group} ELSE '' END`;
  });
  await session.run(
    '',
    `UPDATE rollout_machines m SET groups = g.groups FROM (
       SELECT machine_id AS id, ARRAY[${groups.join(', ')}]::text[] AS groups FROM machines WHERE machine_id IN (
         SELECT r.machine_id FROM rollout_machines r WHERE r.rollout_id = $1 AND r.state IN ('pending', 'running', 'failed'))) AS g
     WHERE m.rollout_id = $1 AND m.machine_id = g.id`,
    [rolloutId, ...values],
  );
}
