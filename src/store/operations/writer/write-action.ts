import type { Operation } from '../../../domain/operation/operation.ts';
import type { Job } from '../../../engine/job.ts';
import type { Session } from '../../database/database.ts';
import { OPERATION_COLUMNS, type OperationRow, operationOf } from '../../database/rows.ts';
import { toStoredJson } from '../../database/stored-json.ts';
import { operationNotFound } from '../operation-faults.ts';

const WRITE = `
  WITH written AS (UPDATE operations o SET status = i.status, steps = i.steps, current = i.current, error = i.error,
    waiting_for = i."waitingFor", finished_at = i."finishedAt", deaths = i.deaths, adopting = i.adopting,
    restarting = i.restarting, cancel_requested = i."cancelRequested", cancel_actor_kind = i."cancelActorKind",
    cancel_actor_id = i."cancelActorId", cancel_reason = i."cancelReason", epoch = o.epoch + 1, owner = NULL,
    due_at = now(), deadline_at = NULL, signals = o.signals + 1
  FROM jsonb_to_record($2::jsonb) AS i(status text, steps jsonb, current integer, error jsonb, "waitingFor" text,
    "finishedAt" timestamptz, deaths integer, adopting text, restarting boolean, "cancelRequested" boolean,
    "cancelActorKind" text, "cancelActorId" text, "cancelReason" text)
  WHERE o.operation_id = $1 RETURNING o.*)
  SELECT ${OPERATION_COLUMNS} FROM written`;

/** Moves a locked operation as an operator's action decided, and takes it from its holder: the epoch grows. */
export async function writeAction(session: Session, operation: Job): Promise<Operation> {
  const { id, cancel } = operation;
  const [row] = await session.run<OperationRow>('write-action', WRITE, [
    id,
    toStoredJson({
      ...operation,
      cancelRequested: cancel !== null,
      cancelActorKind: cancel?.actor.kind ?? null,
      cancelActorId: cancel?.actor.id ?? null,
      cancelReason: cancel?.reason ?? '',
    }),
  ]);
  if (!row) throw operationNotFound(id);
  return operationOf(row);
}
