/** Erasures ordered by operations: the node waits for the boot that erases it. */
import type { InstallState } from '../../domain/install/install-state.ts';
import { MAX_INSTALL_ATTEMPTS, type Node, recordFromNextBoot } from '../../domain/install/node.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { EraseOrderRequest } from '../../providers/network-installs.ts';
import type { LockedNode, NodeChange } from '../../store/nodes/nodes.ts';
import { moveNode, type NodeCause, traceEvent } from './node-changes.ts';

/** The states that an erasure starts from; one that is already running is taken over. */
export const ERASABLE: readonly InstallState[] = ['active', 'deprovisioning'];

/** Null: no change. */
export function eraseOrdered(
  locked: LockedNode,
  request: EraseOrderRequest,
  cause: NodeCause,
): NodeChange | null {
  const { node } = locked;
  if (isDoneFor(node, request)) return null;
  if (!ERASABLE.includes(node.state)) throw notErasable(node.state);
  if (isQueuedFor(node, request)) {
    if (node.order.key === request.key) return null;
    return { ...locked, events: [], node: { ...node, order: { ...node.order, key: request.key } } };
  }
  const moved =
    node.state === 'active'
      ? moveNode(locked, 'deprovisioning', cause)
      : { ...locked, events: [traceEvent(node, { ...cause, comment: 'the erasure is ordered again' })] };
  return {
    ...moved,
    node: {
      ...moved.node,
      installRecord: recordFromNextBoot(moved.node),
      order: { ...request, image: '', wantedAt: cause.now, kickedAt: null },
    },
  };
}

/** An erasure that this operation saw complete is not started again. */
function isDoneFor({ state, order }: Node, { operationId }: EraseOrderRequest): boolean {
  return state === 'retired' && order.operationId === operationId;
}

/**
 * Another step of the same operation continues the erasure; one that failed too often restarts only for a new
 * attempt.
 */
function isQueuedFor({ state, order, installRecord }: Node, request: EraseOrderRequest): boolean {
  if (state !== 'deprovisioning' || order.operationId !== request.operationId) return false;
  if (order.overwrite !== request.overwrite) return false;
  return order.key === request.key || installRecord.attempts < MAX_INSTALL_ATTEMPTS;
}

/** Deprovisioning cannot be left: the node waits for another order, and the canceled one is not served. */
export function eraseGivenUp(locked: LockedNode, cause: NodeCause): NodeChange | null {
  const { node } = locked;
  if (node.state !== 'deprovisioning' || node.order.key === '') return null;
  return {
    ...locked,
    events: [traceEvent(node, cause)],
    node: { ...node, order: { ...node.order, key: '' } },
  };
}

export function notErasable(state: InstallState): StepFailure {
  const message = `the node is ${state}, and an erasure starts from ${ERASABLE.join(' or ')}`;
  return new StepFailure({ class: 'needs_human', code: 'WRONG_INSTALL_STATE', message });
}
