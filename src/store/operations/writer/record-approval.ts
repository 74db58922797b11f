/**
 * The decision on an operation that waits for approval. An approval changes the machine as the start would have and makes
 * the operation due; a rejection, or the end of the time for one, cancels it. Each is one transaction with its events.
 */
import type { Scope } from '../../../domain/access/scope.ts';
import type { Actor } from '../../../domain/actor.ts';
import { actorLabel } from '../../../domain/actor.ts';
import type { NewEvent } from '../../../domain/event.ts';
import { applyChange } from '../../../domain/machine/machine-change.ts';
import type { ApprovalState } from '../../../domain/operation/approval.ts';
import type { Operation } from '../../../domain/operation/operation.ts';
import type { Database, Session } from '../../database/database.ts';
import { operationOf, type StoredApproval } from '../../database/rows.ts';
import { appendEvents } from '../../events/append-events.ts';
import { writeLayers } from '../../machines/machine-rows.ts';
import { progressOfOperation } from '../operation-progress.ts';
import { askedIn } from './decide-start.ts';
import { type LockedOperation, lockOperation } from './lock-operation.ts';
import { recordCancelLocked } from './record-cancel.ts';
import { writeApproval } from './write-approval.ts';

export interface ApprovalCall {
  readonly operationId: string;
  readonly actor: Actor;
  readonly scope: Scope | null;
  readonly decision: Exclude<ApprovalState, 'waiting'>;
  readonly comment: string;
  /** Throws a Fault where the decision is not the caller's, or the operation does not wait for one. */
  readonly check: (operation: Operation, isUnchanged: boolean) => void;
}

export function recordApproval(database: Database, call: ApprovalCall): Promise<Operation> {
  return database.transaction(async (session) => {
    const locked = await lockOperation(session, call);
    const before = operationOf(locked.row);
    const { approval } = locked.row;
    call.check(before, isUnchanged(locked));
    if (approval?.state !== 'waiting' || before.status !== 'pending') return before;
    const operation = await writeApproval(session, call.operationId, {
      state: call.decision,
      decidedBy: actorLabel(call.actor),
      decidedAt: new Date().toISOString(),
      comment: call.comment,
    });
    if (call.decision === 'approved') return approve(session, call, { ...locked, approval, operation });
    await appendEvents(session, [decisionEvent(call, operation)]);
    const reason = call.decision === 'rejected' ? `rejected: ${call.comment}` : 'no one approved it in time';
    return recordCancelLocked(session, { ...call, reason, onCanceled: () => null }, locked);
  });
}

interface Approved extends LockedOperation {
  readonly approval: StoredApproval;
  readonly operation: Operation;
}

async function approve(
  session: Session,
  call: ApprovalCall,
  { machine, approval, operation }: Approved,
): Promise<Operation> {
  const cause = { at: new Date(), actor: call.actor, operationId: call.operationId };
  const changed = applyChange(machine, approval.change, cause);
  await writeLayers(session, [changed.machine], [decisionEvent(call, operation), ...changed.events], ['due']);
  return operation;
}

/** The machine is in the state that the requester saw. */
function isUnchanged({ row, machine }: LockedOperation): boolean {
  const now = askedIn(machine);
  const then = row.approval?.askedIn;
  return (
    then !== undefined &&
    now.phase === then.phase &&
    now.service === then.service &&
    now.install === then.install
  );
}

function decisionEvent({ actor, decision, comment }: ApprovalCall, operation: Operation): NewEvent {
  return {
    kind: 'operation',
    subject: operation.type,
    from: 'pending',
    to: 'pending',
    actor,
    comment: comment === '' ? decision : `${decision}: ${comment}`,
    metadata: { action: decision, reason: comment, rule: operation.approval?.rule ?? '' },
    machineId: operation.machineId,
    operationId: operation.operationId,
    snapshot: progressOfOperation(operation),
  };
}
