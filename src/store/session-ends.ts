/** Sessions that ended by themselves, each with its event. */
import type { Database } from './database/database.ts';
import { appendEvents } from './events/append-events.ts';
import { changeEvent } from './events/record-change.ts';

const ACTOR = { kind: 'system', id: 'sessions' } as const;

/** Why a session is over, as a person reads it. */
const ENDS = {
  absolute: 'its absolute limit',
  idle: 'its idle limit',
  token: 'its token was revoked or replaced',
} as const;

interface EndedRow extends Record<string, unknown> {
  session_id: string;
  reason: keyof typeof ENDS;
  used_at: Date;
  identity: string | null;
}

const END = `
  WITH due AS MATERIALIZED (
    SELECT s.session_hash, CASE WHEN s.expires_at <= now() THEN 'absolute'
        WHEN s.used_at <= now() - make_interval(secs => $1) THEN 'idle' ELSE 'token' END AS reason
    FROM sessions s
    WHERE s.ended_at IS NULL AND (s.expires_at <= now() OR s.used_at <= now() - make_interval(secs => $1)
      OR (s.token_hash IS NOT NULL AND NOT EXISTS (
        SELECT FROM tokens t WHERE t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
          AND (t.token_hash = s.token_hash OR (t.previous_hash = s.token_hash AND t.previous_expires_at > now())))))
    ORDER BY s.session_hash LIMIT $2 FOR UPDATE OF s SKIP LOCKED)
  UPDATE sessions s SET ended_at = now() FROM due WHERE s.session_hash = due.session_hash
  RETURNING s.session_id, due.reason, s.used_at,
    (SELECT e.actor_kind || ':' || e.actor_id FROM events e WHERE e.kind = 'session' AND e.subject = s.session_id
     ORDER BY e.event_id DESC LIMIT 1) AS identity`;

/** As many at most as one pass records; returns how many there were. */
export async function endExpiredSessions(
  database: Database,
  idleSeconds: number,
  limit: number,
): Promise<number> {
  return database.transaction(async (session) => {
    const ended = await session.run<EndedRow>('end-expired-sessions', END, [idleSeconds, limit]);
    const events = ended.map(({ session_id: subject, reason, used_at: usedAt, identity }) =>
      changeEvent({
        kind: 'session',
        subject,
        to: 'expired',
        actor: ACTOR,
        comment: ENDS[reason],
        metadata: { reason, last_used_at: usedAt.toISOString(), ...(identity !== null && { identity }) },
      }),
    );
    await appendEvents(session, events);
    return ended.length;
  });
}
