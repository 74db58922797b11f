/**
 * Writes events, alone or as a part of a larger statement.
 *
 * Identity values are assigned before the commit, so by themselves they are not in the order of commits, and a reader that
 * follows "id > last" would skip what commits late. Transaction ids are no better: a transaction that waits for a lock has the
 * older id and the newer event. So writers are serialized: a transaction takes the event lock right before its first event_id
 * and holds it until it has committed. Then event_id is the order of commits, readers get a position without gaps, and of two
 * events about one row the later one has the greater id.
 *
 * The event lock must be the last lock that a transaction takes, or two could deadlock: every row that a statement locks is
 * locked before its events are written. Commits that notify are serialized anyway.
 */
import type { NewEvent } from '../../domain/event.ts';
import type { Session } from '../database/database.ts';
import type { Notice } from '../database/notifications.ts';
import { eventRows, eventsAsLines } from './event-lines.ts';

const INSERT = `INSERT INTO events (kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata,
    machine_id, operation_id, snapshot, address, request_id, via, changes)
  SELECT e.kind, e.subject, e."from", e."to", e."actorKind", e."actorId", e.comment, e.metadata, e."machineId",
    e."operationId", e.snapshot, e.address, e."requestId", e.via, e.changes`;

const EVENT_LOCK = 'pg_advisory_xact_lock(7146204)';

/** All events in the parameter (eventsAsLines), for a statement whose transaction holds every other lock that it needs. */
export function insertEvents(parameter: string): string {
  return `WITH locked AS MATERIALIZED (SELECT ${EVENT_LOCK})
    ${INSERT} FROM ${eventRows(parameter)} CROSS JOIN locked ORDER BY e.n`;
}

/**
 * Only the events that belong to the rows of a part of the same statement, after that part has run. The lock is materialized: as a
 * subquery it would be taken, and the part counted, for each event.
 */
export function insertEventsOf(parameter: string, part: string, join: string): string {
  return `WITH locked AS MATERIALIZED (SELECT ${EVENT_LOCK} FROM (SELECT count(*) FROM ${part}) AS done)
    ${INSERT} FROM ${eventRows(parameter)} JOIN ${part} ON ${join} CROSS JOIN locked ORDER BY e.n`;
}

/**
 * Takes the turn to write events before the first one: until this transaction has ended, nothing else that writes events
 * commits. Only for a transaction that holds every lock that it could have to wait for.
 */
export async function takeEventTurn(session: Session): Promise<void> {
  await session.run('take-event-turn', `SELECT ${EVENT_LOCK}`);
}

const APPEND = `WITH appended AS (${insertEvents('$1')})
  SELECT pg_notify('ingot', notice) FROM unnest($2::text[]) AS notice`;

/** Runs in the transaction of the change that the events describe; listeners are notified when it commits. */
export async function appendEvents(
  session: Session,
  events: readonly NewEvent[],
  notices: readonly Notice[] = [],
): Promise<void> {
  const all = new Set<Notice>(events.length > 0 ? ['events', ...notices] : notices);
  if (all.size > 0) await session.run('append-events', APPEND, [eventsAsLines(events), [...all]]);
}
