/** Approving nodes: by a person for one or many, and by the rules of the configuration. */
import type { Actor } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import { type ApprovalRule, matchingRule } from '../../domain/install/approval-rule.ts';
import type { Node } from '../../domain/install/node.ts';
import type { Session } from '../../store/database/database.ts';
import { recentNotes } from '../../store/nodes/node-lists.ts';
import type { LockedNode, NodeChange } from '../../store/nodes/nodes.ts';
import { moveNode, type NodeCause, traceEvent } from './node-changes.ts';
import type { Approval } from './node-input.ts';
import { changeAndLog, checkMayInstall, movedByAdmin, type NodeDependencies } from './nodes.ts';

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
    const moved = await movedByAdmin(
      dependencies,
      session,
      asked,
      { state: 'pending', comment, force },
      actor,
    );
    await checkMayInstall(dependencies, session, asked);
    return moved;
  });
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
