import type { Operation } from '../../domain/operation/operation.ts';
import type { Session } from '../database/database.ts';
import { OPERATION_COLUMNS, type OperationRow, operationOf } from '../database/rows.ts';

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

/** The active operation of a machine, or the one that ended last. */
export async function lastOperationOf(session: Session, machineId: string): Promise<Operation | null> {
  const [row] = await session.run<OperationRow>(
    'last-operation-of',
    `SELECT ${OPERATION_COLUMNS} FROM operations WHERE machine_id = $1
     ORDER BY (finished_at IS NULL) DESC, coalesce(finished_at, created_at) DESC LIMIT 1`,
    [machineId],
  );
  return row ? operationOf(row) : null;
}
