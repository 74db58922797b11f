/** The groups of a limit that the machines of a rollout are in, as far as the rollout has not ended with them. */
import type { Limit } from '../../domain/budget/limit.ts';
import { groupSql } from '../budgets/group-sql.ts';
import type { Session } from '../database/database.ts';

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
