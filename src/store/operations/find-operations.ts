import type { Scope } from '../../domain/access/scope.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { Session } from '../database/database.ts';
import { OPERATION_COLUMNS, type OperationRow, operationOf } from '../database/rows.ts';
import { inScope, preparedAs } from '../filter/scope-condition.ts';

/** Null: there is none, or its machine is not in the scope. */
export async function findOperation(
  session: Session,
  operationId: string,
  scope: Scope | null,
): Promise<Operation | null> {
  const { text, values } = inScope(scope, 'machine_id', 2);
  const [row] = await session.run<OperationRow>(
    preparedAs('find-operation', scope),
    `SELECT ${OPERATION_COLUMNS} FROM operations WHERE operation_id = $1 AND ${text}`,
    [operationId, ...values],
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

/** Who asked for an operation. */
export async function startedBy(session: Session, operationId: string): Promise<string | null> {
  const [row] = await session.run<{ started_by: string }>(
    'operation-started-by',
    'SELECT started_by FROM operations WHERE operation_id = $1',
    [operationId],
  );
  return row?.started_by ?? null;
}
