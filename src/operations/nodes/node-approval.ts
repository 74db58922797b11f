/** Approving nodes: by a person for one or many, and by the rules of the configuration. */
import type { Actor } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import { type ApprovalRule, matchingRule } from '../../domain/install/approval-rule.ts';
import { isExpected } from '../../domain/install/boot/boot-admission.ts';
import { isBootConflict } from '../../domain/install/boot/boot-conflict.ts';
import type { Node } from '../../domain/install/node.ts';
import type { Session } from '../../store/database/database.ts';
import { recentNotes } from '../../store/nodes/node-lists.ts';
import { isOperationWanted, type LockedNode, type NodeChange } from '../../store/nodes/nodes.ts';
import { judgeConflict, moveNode, type NodeCause, traceEvent } from './node-changes.ts';
import type { Approval } from './node-input.ts';
import { adminCause, changeAndLog, checkMayInstall, movedByAdmin, type NodeDependencies } from './nodes.ts';

export interface ApprovalDependencies extends NodeDependencies {
  readonly approvalRules: readonly ApprovalRule[];
}

/** Sets the profile and the state together: a refusal leaves the node as it was. */
export async function approveNode(
  dependencies: NodeDependencies,
  id: string,
  approval: Approval,
  actor: Actor,
): Promise<Node> {
  const { workflow, comment, force } = approval;
  return changeAndLog(dependencies, id, async (locked, session) => {
    const node = workflow === undefined ? locked.node : { ...locked.node, profile: workflow ?? '' };
    const asked = { ...locked, node };
    const moved =
      node.state === 'pending' && waitsForApproval(dependencies, asked)
        ? await approvedAgain(
            dependencies,
            session,
            asked,
            adminCause(dependencies, actor, comment ?? '', force),
          )
        : await movedByAdmin(dependencies, session, asked, { state: 'pending', comment, force }, actor);
    await checkMayInstall(dependencies, session, asked);
    return moved;
  });
}

/** Its boot is not expected any more, or two machines booted as this node. */
function waitsForApproval(
  { bootWindowSeconds, now }: NodeDependencies,
  { machine, node }: LockedNode,
): boolean {
  if (isBootConflict(machine.conditions)) return true;
  return !isExpected(node, { windowSeconds: bootWindowSeconds }, now());
}

/**
 * A node that waits already is expected from now on, and boots of before are over. The order of an operation that runs stays
 * its own.
 */
async function approvedAgain(
  { now }: NodeDependencies,
  session: Session,
  { machine, node }: LockedNode,
  cause: NodeCause,
): Promise<NodeChange> {
  const { operationId } = node.order;
  const isWanted = operationId !== null && (await isOperationWanted(session, operationId));
  const order = isWanted ? node.order : { ...node.order, operationId: null, key: '', image: '' };
  const judged = judgeConflict(machine, cause);
  return {
    machine: judged.machine,
    node: {
      ...node,
      installRecord: { ...node.installRecord, lastError: '', firstBootNo: node.bootsIssued + 1 },
      order: { ...order, wantedAt: now() },
      reporterAddress: '',
    },
    events: [traceEvent(node, { ...cause, comment: cause.comment || 'approved again' }), ...judged.events],
    wakes: operationId,
  };
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Runs at every boot and report of a node that still waits: a rule that could not be applied, for example because
 * there was no installer, is applied as soon as possible. The history has the reason once a day.
 */
export async function approveByRule(dependencies: ApprovalDependencies, id: string): Promise<Node> {
  return changeAndLog(dependencies, id, async (locked, session) => {
    if (locked.node.state !== 'discovered') return null;
    const rule = matchingRule(dependencies.approvalRules, locked.node);
    if (!rule) return null;
    const node = { ...locked.node, profile: locked.node.profile || rule.profile };
    const cause = ruleCause(dependencies, rule);
    try {
      await checkMayInstall(dependencies, session, { ...locked, node });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return refused(session, locked, cause, error);
    }
    return moveNode({ ...locked, node }, 'pending', cause);
  });
}

function ruleCause({ now }: NodeDependencies, { name }: ApprovalRule): NodeCause {
  return {
    actor: { kind: 'system', id: 'approval-rule' },
    owner: 'system',
    comment: `approved by the rule ${name}`,
    metadata: { rule: name },
    operationId: null,
    now: now(),
  };
}

async function refused(
  session: Session,
  locked: LockedNode,
  cause: NodeCause,
  { reason, message }: Fault,
): Promise<NodeChange | null> {
  const since = new Date(cause.now.getTime() - DAY_MS);
  const before = await recentNotes(session, locked.node.machineId, { key: 'refused', since, limit: 1 });
  if (before[0] === message) return null;
  const entry = traceEvent(locked.node, {
    ...cause,
    comment: `the rule ${String(cause.metadata.rule)} approves it, but: ${message}`,
    metadata: { ...cause.metadata, refused: message, reason },
  });
  return { ...locked, events: [entry] };
}
