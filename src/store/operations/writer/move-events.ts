import type { Actor } from '../../../domain/actor.ts';
import type { NewEvent } from '../../../domain/event.ts';
import type { MachineChange } from '../../../domain/machine/machine-change.ts';
import type { JobMove } from '../../../engine/job.ts';
import { progressOf } from '../operation-progress.ts';

/** The events of a move as they are stored; `actor` is the author of those that name none. */
export function moveEvents({ job, events }: JobMove<MachineChange>, actor: Actor): NewEvent[] {
  return events.map((event) => ({
    kind: event.kind,
    subject: event.subject,
    from: event.from,
    to: event.to,
    actor: event.actor ?? actor,
    comment: event.comment,
    metadata: event.metadata,
    machineId: job.subject,
    operationId: job.id,
    snapshot: progressOf(event.after),
  }));
}
