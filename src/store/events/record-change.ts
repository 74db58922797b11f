/**
 * The one way to record what someone did to a record that has no lifecycle: a plan, a pool, an image, a session. It runs in the
 * transaction of the change, so that there is no change without its event and no event without its change.
 */
import type { Actor } from '../../domain/actor.ts';
import type { EventKind, NewEvent } from '../../domain/event.ts';
import { changesBetween } from '../../domain/field-changes.ts';
import type { Session } from '../database/database.ts';
import type { Notice } from '../database/notifications.ts';
import { appendEvents } from './append-events.ts';

export interface RecordedChange {
  readonly kind: EventKind;
  /** The name of the record. */
  readonly subject: string;
  /** What happened to it, as a past participle: created, replaced, removed, read. */
  readonly to: string;
  /** Its state before, where that says more than the fields do. */
  readonly from?: string;
  /** With its origin: the caller of the call, or a system actor. */
  readonly actor: Actor;
  /** The record before and after; the event has the fields that differ, and hides secrets. */
  readonly before?: unknown;
  readonly after?: unknown;
  readonly comment?: string;
  /** Never a secret. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly machineId?: string | null;
  readonly operationId?: string | null;
}

export async function recordChange(
  session: Session,
  change: RecordedChange,
  notices: readonly Notice[] = [],
): Promise<void> {
  await appendEvents(session, [changeEvent(change)], notices);
}

/** The event alone, for a caller that appends several at once. */
export function changeEvent(change: RecordedChange): NewEvent {
  return {
    kind: change.kind,
    subject: change.subject,
    from: change.from ?? '',
    to: change.to,
    actor: change.actor,
    comment: change.comment ?? '',
    metadata: change.metadata ?? {},
    machineId: change.machineId ?? null,
    operationId: change.operationId ?? null,
    snapshot: null,
    changes: changesBetween(change.before ?? null, change.after ?? null),
  };
}
