/**
 * Reading the event log in the order of commits. Identity values and even transaction ids are handed out before
 * the commit, so a reader that follows "id > last" skips what commits late. Here a reader only takes events of
 * transactions older than every one still running: below that line nothing new can appear, so (xid, event_id) is
 * a position without gaps.
 *
 * A watcher starts with a list of what is there, read in one snapshot; events that this snapshot has seen are
 * not told again. That is what `Snapshot` is for.
 */
import type { EventKind } from '../domain/event.ts';
import type { OperationProgress } from '../domain/operation.ts';
import type { Session } from './database.ts';

export interface EventPosition {
  readonly xid: number;
  readonly eventId: number;
}

export interface StoredEvent extends EventPosition {
  readonly at: Date;
  readonly kind: EventKind;
  readonly subject: string;
  readonly from: string;
  readonly to: string;
  readonly comment: string;
  readonly machineId: string | null;
  readonly operationId: string | null;
  readonly snapshot: OperationProgress | null;
}

interface EventRow {
  xid: number;
  event_id: number;
  at: Date;
  kind: EventKind;
  subject: string;
  from_state: string;
  to_state: string;
  comment: string;
  machine_id: string | null;
  operation_id: string | null;
  snapshot: OperationProgress | null;
}

export interface EventBatch {
  readonly events: readonly StoredEvent[];
  /** No event of an older transaction can appear any more. */
  readonly settledBelow: number;
}

export async function readEvents(session: Session, after: EventPosition, limit: number): Promise<EventBatch> {
  const rows = await session.run<
    (EventRow | { event_id: null }) & { horizon: number } & Record<string, unknown>
  >(
    'read-events',
    `SELECT h.horizon, e.* FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS horizon) h
     LEFT JOIN LATERAL (
       SELECT xid, event_id, at, kind, subject, from_state, to_state, comment, machine_id, operation_id, snapshot
       FROM events WHERE (xid, event_id) > ($1::text::xid8, $2) AND xid < h.horizon
       ORDER BY xid, event_id LIMIT $3) e ON true
     ORDER BY e.xid, e.event_id`,
    [String(after.xid), after.eventId, limit],
  );
  const events = rows.flatMap((row) => (row.event_id === null ? [] : [eventOf(row as EventRow)]));
  // A full batch has only been read up to its last event.
  const last = events.length === limit ? events.at(-1) : undefined;
  return { events, settledBelow: last?.xid ?? rows[0]?.horizon ?? 0 };
}

function eventOf(row: EventRow): StoredEvent {
  return {
    xid: row.xid,
    eventId: row.event_id,
    at: row.at,
    kind: row.kind,
    subject: row.subject,
    from: row.from_state,
    to: row.to_state,
    comment: row.comment,
    machineId: row.machine_id,
    operationId: row.operation_id,
    snapshot: row.snapshot,
  };
}

/** Which transactions a list has seen: all below xmin, and those below xmax that were not running. */
export interface Snapshot {
  readonly xmin: number;
  readonly xmax: number;
  readonly running: readonly number[];
}

/** In the transaction that reads the list, which must be repeatable read. */
export async function currentSnapshot(session: Session): Promise<Snapshot> {
  const [row] = await session.run<{ snapshot: string }>(
    'current-snapshot',
    'SELECT pg_current_snapshot()::text AS snapshot',
  );
  return parseSnapshot(row?.snapshot ?? '');
}

function parseSnapshot(text: string): Snapshot {
  const [xmin, xmax, running] = text.split(':');
  return {
    xmin: Number(xmin),
    xmax: Number(xmax),
    running: (running ?? '').split(',').filter(Boolean).map(Number),
  };
}

export function hasSeen(snapshot: Snapshot, xid: number): boolean {
  if (xid < snapshot.xmin) return true;
  return xid < snapshot.xmax && !snapshot.running.includes(xid);
}
