/** How many machines of each wave of a rollout are in each group of a limit. */
import type { Limit } from '../../domain/budget/limit.ts';
import type { Session } from '../database/database.ts';
import { groupSql } from './group-sql.ts';

export interface GroupOfWave {
  readonly wave: number;
  readonly group: string;
  readonly machines: number;
}

/** A list of ids is a text in the statement, and a hundred thousand would keep other calls waiting. */
const PIECE = 5_000;

/** Machines that the limit does not count are left out. */
export async function groupsInWaves(
  session: Session,
  limit: Limit,
  machines: readonly { readonly machineId: string; readonly wave: number }[],
): Promise<GroupOfWave[]> {
  const found = new Map<string, GroupOfWave>();
  for (let start = 0; start < machines.length; start += PIECE)
    for (const one of await groupsInPiece(session, limit, machines.slice(start, start + PIECE))) {
      const key = `${one.wave} ${one.group}`;
      found.set(key, { ...one, machines: one.machines + (found.get(key)?.machines ?? 0) });
    }
  return [...found.values()];
}

async function groupsInPiece(
  session: Session,
  limit: Limit,
  machines: readonly { readonly machineId: string; readonly wave: number }[],
): Promise<GroupOfWave[]> {
  const { group, condition, values } = groupSql(limit, null, 3);
  const rows = await session.run<{ wave: number; grp: string; machines: number }>(
    '',
    `SELECT wave, ${group} AS grp, count(*)::integer AS machines
     FROM unnest($1::text[], $2::integer[]) AS asked(id, wave) JOIN machines ON machine_id = id
     WHERE ${condition} GROUP BY 1, 2`,
    [machines.map(({ machineId }) => machineId), machines.map(({ wave }) => wave), ...values],
  );
  return rows.map(({ wave, grp, machines: count }) => ({ wave, group: grp, machines: count }));
}
