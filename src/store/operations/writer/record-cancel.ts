/**
 * Asks an operation to stop. One that has not started ends here; any other is marked, becomes due at once, and its holder
 * is notified, on whichever replica it runs.
 */
import type { Scope } from '../../../domain/access/scope.ts';
import type { Actor } from '../../../domain/actor.ts';
import type { NewEvent } from '../../../domain/event.ts';
import { applyChange, type MachineChange } from '../../../domain/machine/machine-change.ts';
import type { Operation } from '../../../domain/operation/operation.ts';
import { isActive, type OperationStatus } from '../../../domain/operation/operation-status.ts';
import type { Database, Session } from '../../database/database.ts';
import type { Notice } from '../../database/notifications.ts';
import { operationOf } from '../../database/rows.ts';
import { appendEvents } from '../../events/append-events.ts';
import { writeLayers } from '../../machines/machine-rows.ts';
import { operationFinished } from '../operation-faults.ts';
import { progressOfOperation } from '../operation-progress.ts';
import { type LockedOperation, lockOperation } from './lock-operation.ts';
import { writeCancel } from './write-cancel.ts';

export interface CancelCall {
  readonly operationId: string;
  readonly actor: Actor;
  readonly scope: Scope | null;
  readonly reason: string;
  /** What the cancel does to the machine of an operation that ends here. */
  readonly onCanceled: (operation: Operation) => MachineChange | null;
}

export function recordCancel(database: Database, call: CancelCall): Promise<Operation> {
  return database.transaction(async (session) =>
    recordCancelLocked(session, call, await lockOperation(session, call)),
  );
}

export async function recordCancelLocked(
  session: Session,
  call: CancelCall,
  { row, machine }: LockedOperation,
): Promise<Operation> {
  const { status, owner } = row;
  if (status === 'cancelled' || (isActive(status) && row.cancel_requested)) return operationOf(row);
  if (!isActive(status)) throw operationFinished(operationOf(row));
  if (status !== 'pending' || owner !== null) {
    const operation = await writeCancel(session, 'request-cancel', call);
    await appendEvents(session, [canceledEvent(call, operation, status)], noticesOf(call));
    return operation;
  }
  const operation = await writeCancel(session, 'end-canceled', call);
  const cause = { at: new Date(), actor: call.actor, operationId: call.operationId };
  // While it waits for approval it has not changed the machine, so there is nothing to change back.
  const change = row.approval?.state === 'waiting' ? null : call.onCanceled(operation);
  const changed = applyChange(machine, change ?? {}, cause);
  await writeLayers(
    session,
    [{ ...changed.machine, activeOperationId: null }],
    [canceledEvent(call, operation, status), ...changed.events],
    noticesOf(call),
  );
  return operation;
}

function noticesOf({ operationId }: CancelCall): Notice[] {
  return ['due', `cancel:${operationId}`];
}

function canceledEvent({ actor, reason }: CancelCall, operation: Operation, from: OperationStatus): NewEvent {
  return {
    kind: 'operation',
    subject: operation.type,
    from,
    to: operation.status,
    actor,
    comment: reason === '' ? 'cancel requested' : `cancel requested: ${reason}`,
    metadata: { action: 'cancel', reason },
    machineId: operation.machineId,
    operationId: operation.operationId,
    snapshot: progressOfOperation(operation),
  };
}
