import type { Operation } from '../../../domain/operation/operation.ts';
import type { Session } from '../../database/database.ts';
import type { StoredApproval } from '../../database/rows.ts';
import type { ClaimedStart } from './claim-new-operation.ts';
import { deadlineAt } from './deadline-at.ts';

const INSERT = `
  INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, plan_id, contract, params,
    steps, current, started_by, waiting_for, approval, due_at, rollout_id, started_at, finished_at, owner, epoch, deadline_at,
    clock_ms)
  SELECT "operationId", "machineId", "requestId", fingerprint, type, status, "planId", "completionPolicy", params, steps,
    current, "startedBy", "waitingFor", nullif(approval, 'null'),
    CASE WHEN owner IS NOT NULL THEN now() + $2 * interval '1 ms' WHEN "waitingFor" = '' THEN now() ELSE 'infinity' END,
    nullif("rolloutId", ''), "startedAt", "finishedAt", owner, epoch, "deadlineAt", "clockMs"
  FROM jsonb_to_recordset($1::jsonb) AS i("operationId" text, "machineId" text, "requestId" text, fingerprint text,
    type text, status text, "planId" text, "completionPolicy" text, params jsonb, steps jsonb, current integer,
    "startedBy" text, "waitingFor" text, approval jsonb, "rolloutId" text, "startedAt" timestamptz,
    "finishedAt" timestamptz, owner text, epoch bigint, "deadlineAt" timestamptz, "clockMs" bigint)
  RETURNING operation_id, created_at`;

export interface InsertedOperation {
  readonly operation: Operation;
  readonly approval: StoredApproval | null;
  readonly fingerprint: string;
  /** Null: it has no holder. */
  readonly claimed: ClaimedStart | null;
}

/**
 * New rows. One without a holder is due at once, one that awaits approval is not due, and one that was claimed by its start is
 * due when its lease ends. Returns when each was created, by id.
 */
export async function insertOperations(
  session: Session,
  operations: readonly InsertedOperation[],
  leaseMs: number,
): Promise<Map<string, Date>> {
  const inserted = await session.run<{ operation_id: string; created_at: Date }>(
    'insert-operations',
    INSERT,
    [JSON.stringify(operations.map(columnsOf)), leaseMs],
  );
  return new Map(inserted.map((row) => [row.operation_id, row.created_at]));
}

function columnsOf({ operation, approval, fingerprint, claimed }: InsertedOperation) {
  const { cancelRequested, createdAt, error, ...columns } = operation;
  const created = { ...columns, approval, fingerprint };
  if (claimed === null) return { ...created, epoch: 0, clockMs: 0 };
  const { job, owner } = claimed;
  const { status, steps, current, startedAt, finishedAt, epoch, clockMs } = job;
  const deadline = deadlineAt(job);
  return {
    ...created,
    status,
    steps,
    current,
    startedAt,
    finishedAt,
    owner,
    epoch,
    clockMs,
    deadlineAt: deadline,
  };
}
