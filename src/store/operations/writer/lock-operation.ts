/** Locks a machine and then one of its operations, for a caller or an operator whose decision depends on the row. */
import type { Machine } from '../../../domain/machine/machine.ts';
import type { Session } from '../../database/database.ts';
import { lockMachines } from '../../machines/machine-rows.ts';
import { operationNotFound } from '../operation-faults.ts';
import { ENGINE_COLUMNS, type EngineRow } from './engine-row.ts';

export interface LockedOperation {
  readonly row: EngineRow;
  readonly machine: Machine;
}

export async function lockOperation(session: Session, operationId: string): Promise<LockedOperation> {
  const [found] = await session.run<{ machine_id: string }>(
    'operation-machine',
    'SELECT machine_id FROM operations WHERE operation_id = $1',
    [operationId],
  );
  if (!found) throw operationNotFound(operationId);
  const machine = (await lockMachines(session, [found.machine_id])).get(found.machine_id);
  const [row] = await session.run<EngineRow & Record<string, unknown>>(
    'lock-operation',
    `SELECT ${ENGINE_COLUMNS} FROM operations WHERE operation_id = $1 FOR NO KEY UPDATE`,
    [operationId],
  );
  if (!row || !machine) throw operationNotFound(operationId);
  return { row, machine };
}
