/** Machines by their place in the service layer, for those who keep it true. */
import type { ActorKind } from '../../domain/actor.ts';
import { ONBOARD_CANCELED } from '../../domain/condition/condition.ts';
import { DRIFT_ACTOR } from '../../domain/condition/drift.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Session } from '../database/database.ts';
import { MACHINE_COLUMNS, type MachineRow, machineOf } from '../database/rows.ts';

/** Those whose agents speak although they count as gone. */
export async function machinesThatAreBack(session: Session, limit: number): Promise<string[]> {
  const rows = await session.run<{ machine_id: string }>(
    'machines-that-are-back',
    `SELECT machine_id FROM machines
     WHERE service = 'offline' AND presence = 'ready' AND active_operation_id IS NULL
       AND conditions -> 'NeedsIntervention' ->> 'status' IS DISTINCT FROM 'true'
       AND conditions -> 'Retired' ->> 'status' IS DISTINCT FROM 'true'
       AND (conditions -> 'OperationCanceled' ->> 'status' IS DISTINCT FROM 'true'
         OR conditions -> 'OperationCanceled' ->> 'reason' <> $2)
     ORDER BY machine_id LIMIT $1`,
    [limit, ONBOARD_CANCELED],
  );
  return rows.map((row) => row.machine_id);
}

/** How an upstream is asked about machines: by its own ids, or, before it has been taken into use, by addresses. */
export type UpstreamKey = 'id' | 'address';

const KNOWN_BY = {
  id: `observed ->> 'upstreamId' <> ''`,
  address: `coalesce(observed ->> 'upstreamId', '') = '' AND jsonb_array_length(spec -> 'mac_addresses') > 0`,
} as const satisfies Record<UpstreamKey, string>;

/** Machines of a provider that its upstream may know, in the order of their ids. */
export async function machinesUpstream(
  session: Session,
  provider: string,
  { key, after, limit }: { readonly key: UpstreamKey; readonly after: string; readonly limit: number },
): Promise<Machine[]> {
  const rows = await session.run<MachineRow>(
    `machines-upstream-by-${key}`,
    `SELECT ${MACHINE_COLUMNS} FROM machines
     WHERE spec ->> 'provider' = $1 AND machine_id > $2 AND ${KNOWN_BY[key]}
       AND service IS DISTINCT FROM 'deleted'
     ORDER BY machine_id LIMIT $3`,
    [provider, after, limit],
  );
  return rows.map(machineOf);
}

/** Those that drift or their own onboarding quarantined, and of which nothing speaks against service any more. */
export async function machinesThatAreWell(session: Session, limit: number): Promise<string[]> {
  const rows = await session.run<{ machine_id: string }>(
    'machines-that-are-well',
    `SELECT machine_id FROM machines m CROSS JOIN LATERAL (
       SELECT actor_id, type FROM events e LEFT JOIN operations o USING (operation_id)
       WHERE e.machine_id = m.machine_id AND e.kind = 'service' ORDER BY event_id DESC LIMIT 1) AS mover
     WHERE service = 'quarantined' AND presence = 'ready' AND active_operation_id IS NULL
       AND observed ->> 'state' = 'Deployed' AND observed ->> 'upstreamId' <> ''
       AND conditions -> 'NeedsIntervention' ->> 'status' IS DISTINCT FROM 'true'
       AND conditions -> 'Retired' ->> 'status' IS DISTINCT FROM 'true'
       AND (mover.actor_id = $2 OR mover.type = 'ONBOARD')
     ORDER BY machine_id LIMIT $1`,
    [limit, DRIFT_ACTOR],
  );
  return rows.map((row) => row.machine_id);
}

/** Who moved the machine to where it is in the service layer, and by what work, if by any. */
export interface ServiceMover {
  readonly actorKind: ActorKind;
  readonly actorId: string;
  readonly type: string | null;
  readonly comment: string;
}

export async function lastServiceMover(session: Session, machineId: string): Promise<ServiceMover | null> {
  const [row] = await session.run<ServiceMover>(
    'last-service-mover',
    `SELECT actor_kind AS "actorKind", actor_id AS "actorId", type, comment FROM events e LEFT JOIN operations o USING (operation_id)
     WHERE e.machine_id = $1 AND e.kind = 'service' ORDER BY event_id DESC LIMIT 1`,
    [machineId],
  );
  return row ?? null;
}
