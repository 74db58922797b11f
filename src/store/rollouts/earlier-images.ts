import type { Session } from '../database/database.ts';

/** A machine that a rollout has reimaged, or has started to. */
export interface ReimagedMachine {
  readonly machineId: string;
  /** What the last reimage before the rollout wrote; empty: not known. */
  readonly imageBefore: string;
}

/** In the order of their turn. Ids of operations sort by the time of their creation. */
export async function reimagedMachines(session: Session, rolloutId: string): Promise<ReimagedMachine[]> {
  const rows = await session.run<{ machine_id: string; image: string | null }>(
    'reimaged-machines',
    `WITH changed AS (
       SELECT machine_id, min(operation_id) AS first FROM operations WHERE rollout_id = $1 AND type = 'REIMAGE'
       GROUP BY machine_id)
     SELECT c.machine_id, (
       SELECT o.params ->> 'image_ref' FROM operations o
       WHERE o.machine_id = c.machine_id AND o.operation_id < c.first AND o.status IN ('completed', 'reconciled')
         AND coalesce(o.params ->> 'image_ref', '') <> '' ORDER BY o.operation_id DESC LIMIT 1) AS image
     FROM changed c JOIN rollout_machines m ON m.rollout_id = $1 AND m.machine_id = c.machine_id ORDER BY m.position`,
    [rolloutId],
  );
  return rows.map(({ machine_id, image }) => ({ machineId: machine_id, imageBefore: image ?? '' }));
}
