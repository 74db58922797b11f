/** The one place that turns a decision about a node into states, events and its install record. */
import type { Actor } from '../../domain/actor.ts';
import type { NewEvent } from '../../domain/event.ts';
import { conflictJudged } from '../../domain/install/boot/boot-conflict.ts';
import { type Erasure, erasureText } from '../../domain/install/erasure.ts';
import type { InstallNote } from '../../domain/install/install-report.ts';
import type { InstallOwner, InstallState } from '../../domain/install/install-state.ts';
import {
  type InstallOrder,
  type InstallRecord,
  type Node,
  recordFromNextBoot,
} from '../../domain/install/node.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { applyChange } from '../../domain/machine/machine-change.ts';
import type { LockedNode, NodeChange } from '../../store/nodes/nodes.ts';

export interface NodeCause {
  readonly actor: Actor;
  readonly owner: InstallOwner;
  readonly comment: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly operationId: string | null;
  readonly now: Date;
}

const NO_ORDER: InstallOrder = {
  operationId: null,
  key: '',
  image: '',
  overwrite: 'ends',
  wantedAt: null,
  kickedAt: null,
};

/** Clears the conflict of two boots, because a person has decided about the node. */
export function judgeConflict(
  machine: Machine,
  { now: at, actor, operationId, comment }: NodeCause,
): Pick<NodeChange, 'machine' | 'events'> {
  const judged = conflictJudged(comment === '' ? 'an operator decided about the node' : comment);
  const { machine: changed, events } = applyChange(
    machine,
    { conditions: [judged] },
    { at, actor, operationId },
  );
  return { machine: changed, events };
}

/** Moves a node to a state that the table allows, with what belongs to that state. */
export function moveNode(
  { machine, node }: LockedNode,
  to: InstallState,
  cause: NodeCause,
): Pick<NodeChange, 'machine' | 'node' | 'events'> {
  const { actor, owner, comment, metadata, operationId, now } = cause;
  const retired = {
    type: 'Retired',
    status: true,
    reason: 'Decommissioned',
    message: comment === '' ? 'the node was retired' : comment,
  } as const;
  const changed = applyChange(
    machine,
    {
      install: { to, owner, comment, metadata },
      ...(to === 'retired' ? { conditions: [retired] } : {}),
    },
    { at: now, actor, operationId },
  );
  return {
    machine: changed.machine,
    events: changed.events,
    node: { ...node, state: to, stateChangedAt: now, ...entering(node, to, now) },
  };
}

function entering(
  node: Node,
  to: InstallState,
  now: Date,
): Partial<Pick<Node, 'installRecord' | 'order' | 'erasure' | 'reporterAddress'>> {
  switch (to) {
    case 'pending':
      // Earlier boots are not part of the new installation.
      return {
        installRecord: { ...node.installRecord, progress: null, firstBootNo: node.bootsIssued + 1 },
        order: { ...NO_ORDER, wantedAt: now },
        reporterAddress: '',
      };
    case 'installing':
      return { installRecord: { ...node.installRecord, progress: node.installRecord.progress ?? 0 } };
    case 'deprovisioning':
      // An erasure counts its attempts from the start; earlier installations are not part of it.
      return {
        installRecord: recordFromNextBoot(node),
        order: { ...NO_ORDER, wantedAt: now },
        erasure: null,
        reporterAddress: '',
      };
    case 'retired':
      // The operation that ordered the erasure still waits for its result.
      if (node.state === 'deprovisioning')
        return { installRecord: { ...node.installRecord, progress: null } };
      return { installRecord: { ...node.installRecord, progress: null }, order: NO_ORDER };
    case 'reprovision':
      return { installRecord: { ...node.installRecord, progress: null }, order: NO_ORDER };
    default:
      return {};
  }
}

/** Applies the notes of a report: each is a transition, or an entry that changes no state. */
export function applyNotes(
  locked: LockedNode,
  notes: readonly InstallNote[],
  installRecord: InstallRecord,
  cause: NodeCause,
): Pick<NodeChange, 'machine' | 'node' | 'events'> {
  let { machine, node } = locked;
  const events: NewEvent[] = [];
  for (const { from, to, metadata } of notes) {
    const comment = commentOf(metadata) || cause.comment;
    const note = { ...cause, comment, metadata: { ...cause.metadata, ...metadata } };
    if (from === to) {
      events.push(traceEvent(node, note));
      continue;
    }
    const moved = moveNode({ machine, node }, to, note);
    events.push(...moved.events);
    ({ machine, node } = moved);
  }
  return { machine, events, node: { ...node, installRecord } };
}

/** Evidence is for programs; its event has a sentence for people. */
function commentOf({ erase }: InstallNote['metadata']): string {
  return erase === undefined ? '' : erasureText(erase as Erasure);
}

/** An entry of the history that changes no state. */
export function traceEvent(node: Node, cause: NodeCause): NewEvent {
  return {
    kind: 'install',
    subject: node.machineId,
    from: node.state,
    to: node.state,
    actor: cause.actor,
    comment: cause.comment,
    metadata: cause.metadata,
    machineId: node.machineId,
    operationId: cause.operationId,
    snapshot: null,
  };
}
