import type { Session } from '../database/database.ts';

export interface EndingMaintenance {
  readonly machineId: string;
  readonly until: string;
}

/** The id of the request that ends a maintenance: the same on every replica, and another one for every end. */
export function exitRequestId(until: string): string {
  return `maintenance-over-${until}`;
}

/**
 * Machines whose maintenance is over and ends by itself, where nothing is under way and the exit was not started before. In
 * the order of their ids, after the given one.
 */
export async function endingMaintenance(
  session: Session,
  after: string,
  limit: number,
): Promise<EndingMaintenance[]> {
  const rows = await session.run<{ machine_id: string; until: string }>(
    'ending-maintenance',
    `SELECT machine_id, maintenance ->> 'until' AS until FROM machines m
     WHERE phase = 'MAINTENANCE' AND (maintenance ->> 'exitsByItself')::boolean
       AND (maintenance ->> 'until')::timestamptz <= now() AND active_operation_id IS NULL AND machine_id > $1
       AND NOT EXISTS (SELECT FROM operations o
         WHERE o.machine_id = m.machine_id AND o.request_id = $3 || (maintenance ->> 'until'))
     ORDER BY machine_id LIMIT $2`,
    [after, limit, exitRequestId('')],
  );
  return rows.map((row) => ({ machineId: row.machine_id, until: row.until }));
}
