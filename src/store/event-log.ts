/** Reading the event log. Why an event_id is a position without gaps: append-events.ts. */
import type { EventKind } from '../domain/event.ts';
import type { OperationProgress } from '../domain/operation.ts';
import type { Session } from './database.ts';

export interface StoredEvent {
  readonly eventId: number;
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

export async function readEvents(session: Session, after: number, limit: number): Promise<StoredEvent[]> {
  const rows = await session.run<EventRow & Record<string, unknown>>(
    'read-events',
    `SELECT event_id, at, kind, subject, from_state, to_state, comment, machine_id, operation_id, snapshot
     FROM events WHERE event_id > $1 ORDER BY event_id LIMIT $2`,
    [after, limit],
  );
  return rows.map((row) => ({
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
  }));
}

/** The last event that this session's snapshot sees; it sees all before it too. 0: there is none. */
export async function lastEventId(session: Session): Promise<number> {
  const [row] = await session.run<{ last: number | null }>(
    'last-event',
    'SELECT max(event_id) AS last FROM events',
  );
  return row?.last ?? 0;
}
