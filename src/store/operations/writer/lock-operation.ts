/** Locks a machine and then one of its operations, for a caller or an operator whose decision depends on the row. */
import type { Scope } from '../../../domain/access/scope.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import type { Session } from '../../database/database.ts';
import { inScope, preparedAs } from '../../filter/scope-condition.ts';
import { lockMachineIn } from '../../machines/machine-rows.ts';
import { operationNotFound } from '../operation-faults.ts';
import { ENGINE_COLUMNS, type EngineRow } from './engine-row.ts';

export interface LockedOperation {
  readonly row: EngineRow;
  readonly machine: Machine;
}

/** An operation whose machine is not in the scope does not exist for the caller. */
export async function lockOperation(
  session: Session,
  { operationId, scope }: { readonly operationId: string; readonly scope: Scope | null },
): Promise<LockedOperation> {
  const { text, values } = inScope(scope, 'machine_id', 2);
  const [found] = await session.run<{ machine_id: string }>(
    preparedAs('operation-machine', scope),
    `SELECT machine_id FROM operations WHERE operation_id = $1 AND ${text}`,
    [operationId, ...values],
  );
  if (!found) throw operationNotFound(operationId);
  const machine = await lockMachineIn(session, found.machine_id, scope);
  const [row] = await session.run<EngineRow & Record<string, unknown>>(
    'lock-operation',
    `SELECT ${ENGINE_COLUMNS} FROM operations WHERE operation_id = $1 FOR NO KEY UPDATE`,
    [operationId],
  );
  if (!row || !machine) throw operationNotFound(operationId);
  return { row, machine };
}
