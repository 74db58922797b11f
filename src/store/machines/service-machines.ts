/** Machines whose service state a reconciler may have to change. */
import type { ActorKind } from '../../domain/actor.ts';
import { ONBOARD_CANCELED } from '../../domain/condition/condition.ts';
import { DRIFT_ACTOR } from '../../domain/condition/drift.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Session } from '../database/database.ts';
import { MACHINE_COLUMNS, type MachineRow, machineOf } from '../database/rows.ts';

/** Offline machines whose agents report again. */
export async function offlineMachinesWithReadyAgent(session: Session, limit: number): Promise<string[]> {
  const rows = await session.run<{ machine_id: string }>(
    'offline-machines-with-ready-agent',
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

/** How machines are found in an upstream: by its own ids, or, before it manages them, by MAC addresses. */
export type UpstreamKey = 'id' | 'address';

const KNOWN_BY = {
  id: `observed ->> 'upstreamId' <> ''`,
  address: `coalesce(observed ->> 'upstreamId', '') = '' AND jsonb_array_length(spec -> 'mac_addresses') > 0`,
} as const satisfies Record<UpstreamKey, string>;

/** Machines of a provider that its upstream may have, in the order of their ids. */
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

/** Machines that drift or their own onboarding quarantined, and that no condition keeps out of service any more. */
export async function recoveredQuarantinedMachines(session: Session, limit: number): Promise<string[]> {
  const rows = await session.run<{ machine_id: string }>(
    'recovered-quarantined-machines',
    `SELECT machine_id FROM machines m CROSS JOIN LATERAL (
       SELECT actor_id, type FROM events e LEFT JOIN operations o USING (operation_id)
       WHERE e.machine_id = m.machine_id AND e.kind = 'service' ORDER BY event_id DESC LIMIT 1) AS change
     WHERE service = 'quarantined' AND presence = 'ready' AND active_operation_id IS NULL
       AND observed ->> 'state' = 'Deployed' AND observed ->> 'upstreamId' <> ''
       AND conditions -> 'NeedsIntervention' ->> 'status' IS DISTINCT FROM 'true'
       AND conditions -> 'Retired' ->> 'status' IS DISTINCT FROM 'true'
       AND (change.actor_id = $2 OR change.type = 'ONBOARD')
     ORDER BY machine_id LIMIT $1`,
    [limit, DRIFT_ACTOR],
  );
  return rows.map((row) => row.machine_id);
}

/** The actor of the last change of the service state, and the type of the operation that made it, if one did. */
export interface LastServiceChange {
  readonly actorKind: ActorKind;
  readonly actorId: string;
  readonly type: string | null;
  readonly comment: string;
}

export async function lastServiceChange(
  session: Session,
  machineId: string,
): Promise<LastServiceChange | null> {
  const [row] = await session.run<LastServiceChange>(
    'last-service-change',
    `SELECT actor_kind AS "actorKind", actor_id AS "actorId", type, comment FROM events e LEFT JOIN operations o USING (operation_id)
     WHERE e.machine_id = $1 AND e.kind = 'service' ORDER BY event_id DESC LIMIT 1`,
    [machineId],
  );
  return row ?? null;
}
