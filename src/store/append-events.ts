import type { NewEvent } from '../domain/event.ts';
import type { Session } from './database.ts';

/** What a listening replica is told; see notifications.ts. */
export type Notice = 'events' | 'due' | 'logs' | 'tokens' | `cancel:${string}`;

const APPEND = `
  INSERT INTO events (kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata, machine_id,
    operation_id, snapshot)
  SELECT kind, subject, "from", "to", "actorKind", "actorId", comment, metadata, "machineId", "operationId", snapshot
  FROM jsonb_to_recordset($1::jsonb) AS e(kind text, subject text, "from" text, "to" text, "actorKind" text,
    "actorId" text, comment text, metadata jsonb, "machineId" text, "operationId" text, snapshot jsonb)`;

const NOTIFY = `SELECT pg_notify('ingot', notice) FROM unnest($1::text[]) AS notice`;

/** In the transaction of the change that they tell about; listeners hear of them when it commits. */
export async function appendEvents(
  session: Session,
  events: readonly NewEvent[],
  notices: readonly Notice[] = [],
): Promise<void> {
  const all = new Set<Notice>(notices);
  if (events.length > 0) {
    const rows = events.map(({ actor, ...event }) => ({
      ...event,
      actorKind: actor.kind,
      actorId: actor.id,
    }));
    await session.run('append-events', APPEND, [JSON.stringify(rows)]);
    all.add('events');
  }
  if (all.size > 0) await session.run('notify', NOTIFY, [[...all]]);
}
