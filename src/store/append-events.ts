/** Writing events, alone or as a part of a larger statement. */
import type { NewEvent } from '../domain/event.ts';
import type { Session } from './database.ts';

/** What a listening replica is told; see notifications.ts. */
export type Notice = 'events' | 'due' | 'logs' | 'tokens' | `cancel:${string}`;

const INSERT = `INSERT INTO events (kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata,
    machine_id, operation_id, snapshot)
  SELECT e.kind, e.subject, e."from", e."to", e."actorKind", e."actorId", e.comment, e.metadata, e."machineId",
    e."operationId", e.snapshot`;

/** The events in the JSON array that is the given parameter, as rows named e. */
function eventRows(parameter: string): string {
  return `jsonb_to_recordset(${parameter}::jsonb) AS e(kind text, subject text, "from" text, "to" text,
    "actorKind" text, "actorId" text, comment text, metadata jsonb, "machineId" text, "operationId" text,
    snapshot jsonb)`;
}

/** For a statement that writes events among other things; `only` may join and restrict the rows. */
export function insertEventsFrom(parameter: string, only = ''): string {
  return `${INSERT} FROM ${eventRows(parameter)} ${only}`;
}

export function eventsAsJson(events: readonly NewEvent[]): string {
  return JSON.stringify(
    events.map(({ actor, ...event }) => ({ ...event, actorKind: actor.kind, actorId: actor.id })),
  );
}

const APPEND = `WITH appended AS (${insertEventsFrom('$1')})
  SELECT pg_notify('ingot', notice) FROM unnest($2::text[]) AS notice`;

/** In the transaction of the change that they tell about; listeners hear of them when it commits. */
export async function appendEvents(
  session: Session,
  events: readonly NewEvent[],
  notices: readonly Notice[] = [],
): Promise<void> {
  const all = new Set<Notice>(events.length > 0 ? ['events', ...notices] : notices);
  if (all.size > 0) await session.run('append-events', APPEND, [eventsAsJson(events), [...all]]);
}
