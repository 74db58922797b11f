/** Reads the event log. append-events.ts explains why an event_id is a position without gaps. */
import type { Scope } from '../../domain/access/scope.ts';
import type { ActorKind } from '../../domain/actor.ts';
import type { EventKind, FieldChange } from '../../domain/event.ts';
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { OperationProgress } from '../../domain/operation/operation.ts';
import type { Session } from '../database/database.ts';
import { EVENT_FILTER_COLUMNS } from '../filter/event-columns.ts';
import { inScope } from '../filter/scope-condition.ts';
import { filterToSql } from '../filter/to-sql.ts';
import { progressFromStored } from '../operations/stored-progress.ts';

/** An event as the API returns it. StoredEvent adds what a watch of operations needs. */
export interface LoggedEvent {
  readonly eventId: number;
  readonly at: Date;
  readonly kind: EventKind;
  readonly subject: string;
  readonly from: string;
  readonly to: string;
  readonly actorKind: ActorKind;
  readonly actorId: string;
  readonly comment: string;
  /** JSON, as stored. */
  readonly metadata: string;
  readonly machineId: string | null;
  readonly operationId: string | null;
  /** Of the call that caused it; null: no call, or an event of an older version. */
  readonly address: string | null;
  readonly requestId: string | null;
  readonly via: string | null;
  readonly changes: readonly FieldChange[];
}

export interface StoredEvent extends LoggedEvent {
  readonly snapshot: OperationProgress | null;
}

/** As it is read: under the names that it has here, so that no second object is made of a row. */
type LoggedEventRow = Omit<LoggedEvent, 'changes'> & { changes: readonly FieldChange[] | null };
type EventRow = LoggedEventRow & { snapshot: Parameters<typeof progressFromStored>[0] | null };
type Row<Columns> = Columns & Record<string, unknown>;

const COLUMNS = `event_id AS "eventId", at, kind, subject, from_state AS "from", to_state AS "to", actor_kind AS "actorKind",
  actor_id AS "actorId", comment, metadata::text AS metadata, machine_id AS "machineId", operation_id AS "operationId", address,
  request_id AS "requestId", via, changes`;

const NO_CHANGES: readonly FieldChange[] = [];

function loggedEventOf(row: LoggedEventRow): LoggedEvent {
  row.changes ??= NO_CHANGES;
  return row as LoggedEvent;
}

function storedEventOf(row: EventRow): StoredEvent {
  if (row.snapshot !== null) row.snapshot = progressFromStored(row.snapshot);
  return loggedEventOf(row) as StoredEvent;
}

export async function readEvents(session: Session, after: number, limit: number): Promise<StoredEvent[]> {
  const rows = await session.run<Row<EventRow>>(
    'read-events',
    `SELECT ${COLUMNS}, snapshot FROM events WHERE event_id > $1 ORDER BY event_id LIMIT $2`,
    [after, limit],
  );
  return rows.map(storedEventOf);
}

export interface EventPageRequest {
  readonly filter: CheckedFilter<LoggedEvent> | null;
  /** The caller's: with one, only events of its machines are found. */
  readonly scope: Scope | null;
  /** Kinds that the caller may not see. */
  readonly hidden: readonly EventKind[];
  /** The event that was last returned; null for the newest. */
  readonly before: number | null;
  readonly size: number;
}

/** Newest first; one more than the size, if there is one. */
export async function listEvents(
  session: Session,
  { filter, scope, hidden, before, size }: EventPageRequest,
): Promise<LoggedEvent[]> {
  const condition =
    filter === null ? { text: 'TRUE', values: [] } : filterToSql(filter, EVENT_FILTER_COLUMNS, 3);
  const within = inScope(scope, 'machine_id', 3 + condition.values.length);
  const rows = await session.run<Row<LoggedEventRow>>(
    '',
    `SELECT ${COLUMNS} FROM events
     WHERE event_id < $1 AND kind <> ALL($2::text[]) AND (${condition.text}) AND ${within.text}
     ORDER BY event_id DESC LIMIT ${size + 1}`,
    [before ?? Number.MAX_SAFE_INTEGER, hidden, ...condition.values, ...within.values],
  );
  return rows.map(loggedEventOf);
}

/** The newest event of a kind and subject. */
export async function lastEventOf(
  session: Session,
  kind: EventKind,
  subject: string,
): Promise<LoggedEvent | null> {
  const [row] = await session.run<Row<LoggedEventRow>>(
    'last-event-of',
    `SELECT ${COLUMNS} FROM events WHERE kind = $1 AND subject = $2 ORDER BY event_id DESC LIMIT 1`,
    [kind, subject],
  );
  return row ? loggedEventOf(row) : null;
}

/** The last event in this session's snapshot, which has all events before it too. 0: there is none. */
export async function lastEventId(session: Session): Promise<number> {
  const [row] = await session.run<{ last: number | null }>(
    'last-event',
    'SELECT max(event_id) AS last FROM events',
  );
  return row?.last ?? 0;
}
