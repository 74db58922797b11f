/** Another operator's decision on an operation that waits for approval. */
import type { Caller } from '../../domain/access/caller.ts';
import type { Actor } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { Database } from '../../store/database/database.ts';
import { recordApproval } from '../../store/operations/writer/record-approval.ts';
import { findTokenCreators } from '../../store/tokens.ts';
import { notSecondPerson, roleTooLow } from './approver.ts';

export interface ApproveDependencies {
  readonly database: Database;
  readonly wake: () => void;
}

export interface DecideCall {
  readonly operationId: string;
  readonly decision: 'approved' | 'rejected';
  readonly comment: string;
  readonly caller: Caller;
}

export async function decideApproval(
  { database, wake }: ApproveDependencies,
  { operationId, decision, comment, caller }: DecideCall,
): Promise<Operation> {
  const { actor } = caller;
  const tokenCreators = await findTokenCreators(database, actor.id);
  const operation = await recordApproval(database, {
    operationId,
    actor,
    scope: caller.scope,
    decision,
    comment,
    check: (before, isUnchanged) => {
      checkWaits(before, decision);
      // The requester takes a request back by rejecting or canceling it.
      if (decision === 'rejected') return;
      checkApprover(before, caller, tokenCreators);
      if (!isUnchanged) throw machineChanged(before);
    },
  });
  wake();
  return operation;
}

const EXPIRER: Actor = { kind: 'system', id: 'approvals' };

/** Cancels an operation that no one approved in time; does nothing when a decision came first. */
export function expireApproval(database: Database, operationId: string): Promise<Operation> {
  return recordApproval(database, {
    operationId,
    actor: EXPIRER,
    scope: null,
    decision: 'expired',
    comment: '',
    check: () => {},
  });
}

export function awaitsApproval({ operationId, approval }: Operation): Fault {
  return new Fault('AWAITS_APPROVAL', {
    message: `${operationId} waits for approval by rule ${approval?.rule}: approve, reject or cancel it`,
    metadata: { operation_id: operationId },
    violations: [{ subject: `operations/${operationId}`, description: 'waits for approval' }],
  });
}

/** The same decision again is answered like the first. */
function checkWaits({ operationId, approval, status }: Operation, decision: string): void {
  if (approval?.state === decision) return;
  if (approval?.state === 'waiting' && status === 'pending') return;
  const state =
    approval === null
      ? 'needs none'
      : approval.state === 'waiting'
        ? `is ${status}`
        : `was ${approval.state}`;
  throw new Fault('NOT_AWAITING_APPROVAL', {
    message: `${operationId} does not wait for approval: it ${state}`,
    metadata: { operation_id: operationId },
    violations: [{ subject: `operations/${operationId}`, description: 'does not wait for approval' }],
  });
}

function checkApprover(operation: Operation, caller: Caller, tokenCreators: readonly string[]): void {
  const { operationId, startedBy, approval } = operation;
  const why =
    notSecondPerson(caller, { requestedBy: startedBy, tokenCreators }) ??
    roleTooLow(caller, approval?.approverRole ?? 'admin');
  if (why !== null) throw notApprover(operationId, why);
}

function notApprover(operationId: string, why: string): Fault {
  return new Fault('NOT_THE_APPROVER', {
    message: `you can't approve ${operationId}: ${why}`,
    metadata: { operation_id: operationId },
  });
}

function machineChanged({ operationId, machineId }: Operation): Fault {
  return new Fault('MACHINE_CHANGED_SINCE', {
    message: `${machineId} has changed since ${operationId} was asked for: reject it, and ask again for the machine as it is`,
    metadata: { operation_id: operationId, machine_id: machineId },
    violations: [{ subject: `machines/${machineId}`, description: 'has changed since' }],
  });
}
