import type pg from 'pg';
import type { Operation } from '../../../domain/operation/operation.ts';
import { Lines } from '../../database/lines.ts';
import type { StoredApproval } from '../../database/rows.ts';
import type { Statement } from '../../database/transaction.ts';
import type { ClaimedStart } from './claim-new-operation.ts';
import { deadlineAt } from './deadline-at.ts';

const OPERATIONS = new Lines({
  operationId: 'text',
  machineId: 'text',
  requestId: 'exact',
  fingerprint: 'exact',
  type: 'text',
  status: 'text',
  planId: 'text',
  completionPolicy: 'text',
  params: 'jsonb',
  steps: 'jsonb',
  current: 'integer',
  startedBy: 'text',
  waitingFor: 'text',
  approval: 'jsonb',
  rolloutId: 'text',
  startedAt: 'timestamptz',
  finishedAt: 'timestamptz',
  owner: 'text',
  epoch: 'bigint',
  deadlineAt: 'timestamptz',
  clockMs: 'bigint',
});

const INSERT = `
  WITH inserted AS (INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, plan_id, contract, params,
    steps, current, started_by, waiting_for, approval, due_at, rollout_id, started_at, finished_at, owner, epoch, deadline_at,
    clock_ms)
  SELECT "operationId", "machineId", "requestId", fingerprint, type, status, "planId", "completionPolicy", params, steps,
    current, "startedBy", "waitingFor", approval,
    CASE WHEN owner IS NOT NULL THEN now() + $2 * interval '1 ms' WHEN "waitingFor" = '' THEN now() ELSE 'infinity' END,
    nullif("rolloutId", ''), "startedAt", "finishedAt", owner, epoch, "deadlineAt", "clockMs"
  FROM ${OPERATIONS.rows('$1')} AS i)
  SELECT now() AS created_at`;

export interface InsertedOperation {
  readonly operation: Operation;
  readonly approval: StoredApproval | null;
  readonly fingerprint: string;
  /** Null: it has no holder. */
  readonly claimed: ClaimedStart | null;
}

/**
 * New rows. One without a holder is due at once, one that awaits approval is not due, and one that was claimed by its start is
 * due when its lease ends. Answered with when they were created, which is the time of the transaction.
 */
export function insertedOperations(operations: readonly InsertedOperation[], leaseMs: number): Statement {
  return {
    name: 'insert-operations',
    text: INSERT,
    values: [OPERATIONS.text(operations.map(columnsOf)), leaseMs],
  };
}

export function createdAtOf(rows: readonly pg.QueryResultRow[] | undefined): Date {
  const [row] = rows ?? [];
  if (row === undefined) throw new Error('the database did not say when the operations were created');
  return row.created_at as Date;
}

function columnsOf({ operation, approval, fingerprint, claimed }: InsertedOperation) {
  const { job, owner } = claimed ?? { job: null, owner: null };
  const { status, steps, current } = job ?? operation;
  return {
    operationId: operation.operationId,
    machineId: operation.machineId,
    requestId: operation.requestId,
    fingerprint,
    type: operation.type,
    status,
    planId: operation.planId,
    completionPolicy: operation.completionPolicy,
    params: operation.params,
    steps,
    current,
    startedBy: operation.startedBy,
    waitingFor: operation.waitingFor,
    approval,
    rolloutId: operation.rolloutId,
    startedAt: job?.startedAt ?? null,
    finishedAt: job?.finishedAt ?? null,
    owner,
    epoch: job?.epoch ?? 0,
    clockMs: job?.clockMs ?? 0,
    deadlineAt: job === null ? null : deadlineAt(job),
  };
}
