/** The machines that the spec of a rollout names one by one. They never change. */
import type { Session } from '../database/database.ts';

const PIECE = 5_000;

/** In their order, some thousands at a time: as one value, a hundred thousand would keep other calls waiting. */
export async function readMachineIds(session: Session, rolloutId: string): Promise<string[]> {
  const ids: string[] = [];
  for (let start = 0; ; start += PIECE) {
    const [row] = await session.run<{ ids: string[] }>(
      'machine-ids-of-rollout',
      `SELECT jsonb_path_query_array(spec->'machineIds', '$[$first to $last]',
         jsonb_build_object('first', $2::integer, 'last', $3::integer)) AS ids
       FROM rollouts WHERE rollout_id = $1`,
      [rolloutId, start, start + PIECE - 1],
    );
    for (const id of row?.ids ?? []) ids.push(id);
    if ((row?.ids.length ?? 0) < PIECE) return ids;
  }
}
