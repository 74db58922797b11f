/** Reading operations and their logs. */
import type { Operation } from '../domain/operation.ts';
import type { Session } from './database.ts';
import { OPERATION_COLUMNS, type OperationRow, operationOf } from './rows.ts';

export async function findOperation(session: Session, operationId: string): Promise<Operation | null> {
  const [row] = await session.run<OperationRow>(
    'find-operation',
    `SELECT ${OPERATION_COLUMNS} FROM operations WHERE operation_id = $1`,
    [operationId],
  );
  return row ? operationOf(row) : null;
}

export async function findOperations(
  session: Session,
  ids: readonly string[],
): Promise<Map<string, Operation>> {
  const rows = await session.run<OperationRow>(
    'find-operations',
    `SELECT ${OPERATION_COLUMNS} FROM operations WHERE operation_id = ANY($1)`,
    [ids],
  );
  return new Map(rows.map((row) => [row.operation_id, operationOf(row)]));
}

/** The one that is active, or the newest. */
export async function lastOperationOf(session: Session, machineId: string): Promise<Operation | null> {
  const [row] = await session.run<OperationRow>(
    'last-operation-of',
    `SELECT ${OPERATION_COLUMNS} FROM operations WHERE machine_id = $1
     ORDER BY (finished_at IS NULL) DESC, coalesce(finished_at, created_at) DESC LIMIT 1`,
    [machineId],
  );
  return row ? operationOf(row) : null;
}

export interface StoredLine {
  readonly epoch: number;
  readonly line: number;
  readonly at: Date;
  readonly stream: string;
  readonly step: string;
  readonly text: string;
}

export interface LogPosition {
  readonly epoch: number;
  readonly line: number;
}

/** The lines after a position, in order. */
export async function readLog(
  session: Session,
  operationId: string,
  after: LogPosition,
  limit: number,
): Promise<StoredLine[]> {
  return session.run<StoredLine & Record<string, unknown>>(
    'read-log',
    `SELECT epoch, line, at, stream, step, text FROM operation_logs
     WHERE operation_id = $1 AND (epoch, line) > ($2::bigint, $3::bigint) ORDER BY epoch, line LIMIT $4`,
    [operationId, after.epoch, after.line, limit],
  );
}
