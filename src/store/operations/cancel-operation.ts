/**
 * Asks an operation to stop. One that nobody has begun ends right here; any other is marked, made due at once
 * and its holder is told, wherever it runs.
 */
import type { Actor } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import { applyChange, type MachineChange } from '../../domain/machine/machine-change.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import { isActive } from '../../domain/operation/operation-status.ts';
import type { Database, Session } from '../database/database.ts';
import { OPERATION_COLUMNS, type OperationRow, operationOf } from '../database/rows.ts';
import { appendEvents } from '../events/append-events.ts';
import { lockMachines, writeMachines } from '../machines/machine-rows.ts';
import { progressOfOperation } from './operation-progress.ts';

export interface CancelCall {
  readonly operationId: string;
  readonly actor: Actor;
  readonly reason: string;
  /** What a cancel does to the machine of an operation that ends here. */
  readonly onCanceled: (operation: Operation) => MachineChange | null;
}

const MARK = `
  UPDATE operations SET cancel_requested = true, cancel_actor_kind = $2, cancel_actor_id = $3, cancel_reason = $4,
    signals = signals + 1, due_at = CASE WHEN owner IS NULL THEN now() ELSE due_at END
  WHERE operation_id = $1 RETURNING ${OPERATION_COLUMNS}`;

const END = `
  UPDATE operations SET cancel_requested = true, cancel_actor_kind = $2, cancel_actor_id = $3, cancel_reason = $4,
    status = 'cancelled', finished_at = now()
  WHERE operation_id = $1 RETURNING ${OPERATION_COLUMNS}`;

export function cancelOperation(database: Database, call: CancelCall): Promise<Operation> {
  return database.transaction((session) => cancelIn(session, call));
}

export async function cancelIn(session: Session, call: CancelCall): Promise<Operation> {
  const [found] = await session.run<{ machine_id: string }>(
    'operation-machine',
    'SELECT machine_id FROM operations WHERE operation_id = $1',
    [call.operationId],
  );
  if (!found) throw operationNotFound(call.operationId);
  const machines = await lockMachines(session, [found.machine_id]);
  const [row] = await session.run<OperationRow & { owner: string | null }>(
    'lock-operation',
    `SELECT ${OPERATION_COLUMNS}, owner FROM operations WHERE operation_id = $1 FOR NO KEY UPDATE`,
    [call.operationId],
  );
  if (!row) throw operationNotFound(call.operationId);
  if (row.status === 'cancelled' || (isActive(row.status) && row.cancel_requested)) return operationOf(row);
  if (!isActive(row.status)) throw operationFinished(operationOf(row));
  if (row.status !== 'pending' || row.owner !== null) return mark(session, call, row);
  const machine = machines.get(row.machine_id);
  const operation = await endNow(session, call, row);
  if (!machine) return operation;
  const cause = { at: new Date(), actor: call.actor, operationId: row.operation_id };
  const changed = applyChange(machine, call.onCanceled(operation) ?? {}, cause);
  await writeMachines(session, [{ ...changed.machine, activeOperationId: null }], changed.events);
  return operation;
}

async function mark(session: Session, call: CancelCall, before: OperationRow): Promise<Operation> {
  const operation = await update(session, 'mark-canceled', MARK, call);
  await tell(session, call, operation, before.status);
  return operation;
}

async function endNow(session: Session, call: CancelCall, before: OperationRow): Promise<Operation> {
  const operation = await update(session, 'end-canceled', END, call);
  await tell(session, call, operation, before.status);
  return operation;
}

async function update(session: Session, name: string, text: string, call: CancelCall): Promise<Operation> {
  const values = [call.operationId, call.actor.kind, call.actor.id, call.reason];
  const [row] = await session.run<OperationRow>(name, text, values);
  if (!row) throw operationNotFound(call.operationId);
  return operationOf(row);
}

async function tell(session: Session, call: CancelCall, operation: Operation, from: string): Promise<void> {
  const event = {
    kind: 'operation',
    subject: operation.type,
    from,
    to: operation.status,
    actor: call.actor,
    comment: call.reason === '' ? 'cancel requested' : `cancel requested: ${call.reason}`,
    metadata: { action: 'cancel', reason: call.reason },
    machineId: operation.machineId,
    operationId: operation.operationId,
    snapshot: progressOfOperation(operation),
  } as const;
  await appendEvents(session, [event], ['due', `cancel:${operation.operationId}`]);
}

export function operationNotFound(operationId: string): Fault {
  return new Fault('OPERATION_NOT_FOUND', {
    message: `there is no operation ${operationId}`,
    metadata: { operation_id: operationId },
  });
}

function operationFinished(operation: Operation): Fault {
  return new Fault('OPERATION_FINISHED', {
    message: `${operation.operationId} has already ended (${operation.status})`,
    metadata: { operation_id: operation.operationId, status: operation.status },
    violations: [{ subject: `operations/${operation.operationId}`, description: `is ${operation.status}` }],
  });
}
