import type { Session } from '../database/database.ts';
import { ACTIVE } from '../operations/writer/write-rules.ts';

/** Operations of a rollout that no one has asked to stop yet; at most so many. */
export async function operationsToCancel(
  session: Session,
  rolloutId: string,
  limit: number,
): Promise<string[]> {
  const rows = await session.run<{ operation_id: string }>(
    'rollout-operations-to-cancel',
    `SELECT o.operation_id FROM rollout_machines m JOIN operations o ON o.operation_id = m.operation_id
     WHERE m.rollout_id = $1 AND m.state = 'running' AND o.${ACTIVE} AND NOT o.cancel_requested LIMIT $2`,
    [rolloutId, limit],
  );
  return rows.map(({ operation_id }) => operation_id);
}

/** The parameters of single machines, where they have any. */
export async function paramsOfMachines(
  session: Session,
  rolloutId: string,
  machineIds: readonly string[],
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  const rows = await session.run<{ machine_id: string; params: Record<string, string> }>(
    'params-of-rollout-machines',
    'SELECT machine_id, params FROM rollout_machines WHERE rollout_id = $1 AND machine_id = ANY($2)',
    [rolloutId, machineIds],
  );
  return new Map(rows.map(({ machine_id, params }) => [machine_id, params]));
}
