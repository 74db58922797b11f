import type { Operation } from '../../../domain/operation/operation.ts';
import type { Session } from '../../database/database.ts';
import type { StoredApproval } from '../../database/rows.ts';

const INSERT = `
  INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, plan_id, contract, params,
    steps, started_by, waiting_for, approval, due_at, rollout_id)
  SELECT "operationId", "machineId", "requestId", fingerprint, type, status, "planId", "completionPolicy", params, steps,
    "startedBy", "waitingFor", nullif(approval, 'null'), CASE WHEN "waitingFor" = '' THEN now() ELSE 'infinity' END, nullif("rolloutId", '')
  FROM jsonb_to_recordset($1::jsonb) AS i("operationId" text, "machineId" text, "requestId" text, fingerprint text,
    type text, status text, "planId" text, "completionPolicy" text, params jsonb, steps jsonb, "startedBy" text, "waitingFor" text, approval jsonb,
    "rolloutId" text)
  RETURNING operation_id, created_at`;

export interface InsertedOperation extends Omit<Operation, 'approval'> {
  readonly approval: StoredApproval | null;
  readonly fingerprint: string;
}

/** New rows without a holder, due at once; those that await approval are not due. Returns when each was created, by id. */
export async function insertOperations(
  session: Session,
  operations: readonly InsertedOperation[],
): Promise<Map<string, Date>> {
  const inserted = await session.run<{ operation_id: string; created_at: Date }>(
    'insert-operations',
    INSERT,
    [JSON.stringify(operations)],
  );
  return new Map(inserted.map((row) => [row.operation_id, row.created_at]));
}
