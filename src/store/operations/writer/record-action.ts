/** An operator's action: the operation, its machine and the events of both in one transaction. */
import type { Scope } from '../../../domain/access/scope.ts';
import type { Actor } from '../../../domain/actor.ts';
import { takesOutOfService } from '../../../domain/machine/availability.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { applyChange, type MachineChange } from '../../../domain/machine/machine-change.ts';
import type { Operation } from '../../../domain/operation/operation.ts';
import { isActive } from '../../../domain/operation/operation-status.ts';
import type { OperationType } from '../../../domain/operation/operation-type.ts';
import type { ActionDecision } from '../../../engine/action-moves.ts';
import type { Job, JobMove } from '../../../engine/job.ts';
import type { BudgetBook } from '../../budgets/budget-book.ts';
import { HOLD_BUDGETS } from '../../budgets/budget-lock.ts';
import { LimitCheck } from '../../budgets/limit-check.ts';
import type { Database, Session } from '../../database/database.ts';
import { operationOf } from '../../database/rows.ts';
import { appendEvents } from '../../events/append-events.ts';
import { writeLayers } from '../../machines/machine-rows.ts';
import { lastOperationOf } from '../find-operations.ts';
import { actionNotApplicable, activeFault } from '../operation-faults.ts';
import { jobOf } from './engine-row.ts';
import { lockOperation } from './lock-operation.ts';
import { moveEvents } from './move-events.ts';
import { type CancelCall, recordCancelLocked } from './record-cancel.ts';
import { wakeOperation } from './wake-operation.ts';
import { writeAction } from './write-action.ts';

export interface ActionCall {
  readonly operationId: string;
  readonly actor: Actor;
  /** Throws a Fault where an operation that waits for approval does not take the action. */
  readonly checkWaiting: (operation: Operation) => void;
  readonly scope: Scope | null;
  /** The budgets that an operation obeys when it becomes active again; null: none. */
  readonly budgets: BudgetBook | null;
  /**
   * Decides what happens to the operation; throws a Fault where the machine's state does not permit it. `latest` is the id
   * of the operation that worked on the machine last.
   */
  readonly decide: (operation: Job, machine: Machine, latest: string) => Decided;
}

/** An active operation that is canceled is not moved here: its holder stops it and undoes what it did. */
type Decided = ActionDecision<MachineChange> | { readonly decision: 'stop'; readonly cancel: CancelCall };

export async function recordAction(database: Database, call: ActionCall): Promise<Operation> {
  return database.transaction(async (session) => {
    if (call.budgets !== null) await session.run('hold-budgets', `SELECT ${HOLD_BUDGETS}`);
    const locked = await lockOperation(session, call);
    const { row, machine } = locked;
    const latest = await lastOperationOf(session, machine.machineId);
    if (row.approval?.state === 'waiting' && row.status === 'pending') call.checkWaiting(operationOf(row));
    const decided = call.decide(jobOf(row), machine, latest?.operationId ?? '');
    switch (decided.decision) {
      case 'stop':
        return recordCancelLocked(session, decided.cancel, locked);
      case 'refuse':
        throw actionNotApplicable(call.operationId, decided.why);
      case 'nothing':
        // The operator may act because a notice was lost: the operation becomes due, and what it missed is read at once.
        await wakeOperation(session, call.operationId);
        await appendEvents(session, [], ['due']);
        return operationOf(row);
      case 'move':
        return move(session, call, decided.move, machine);
    }
  });
}

async function move(
  session: Session,
  call: ActionCall,
  decided: JobMove<MachineChange>,
  machine: Machine,
): Promise<Operation> {
  const { actor } = call;
  const { id: operationId, status } = decided.job;
  const other = machine.activeOperationId === operationId ? null : machine.activeOperationId;
  if (isActive(status) && other !== null) throw activeFault(machine.machineId, other);
  if (isActive(status)) await checkBudgets(session, call, decided.job.type as OperationType, machine);
  const operation = await writeAction(session, decided.job);
  const cause = { at: new Date(), actor, operationId };
  const { machine: changed, events } = applyChange(machine, decided.change ?? {}, cause);
  const activeOperationId = isActive(status) ? operationId : other;
  // The notice of a cancel makes the replica that held the operation stop its step.
  await writeLayers(
    session,
    [{ ...changed, activeOperationId }],
    [...moveEvents(decided, actor), ...events],
    ['due', `cancel:${operationId}`],
  );
  return operation;
}

/** An operation that becomes active again takes its machine out of service as a start does. */
async function checkBudgets(
  session: Session,
  { budgets, scope }: ActionCall,
  type: OperationType,
  machine: Machine,
): Promise<void> {
  if (budgets === null || !takesOutOfService(type, machine)) return;
  const limits = await budgets.currentLimits(session);
  const check = await LimitCheck.open(session, [{ machine, limits }], 'late');
  const over = check.full(machine, limits, scope);
  if (over) throw await check.fault(over);
}
