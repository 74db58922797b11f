/**
 * Sessions of a console and the turn to write. Every change locks the console's row first, so that there is one writer at most, and
 * is an event, so that the audit log has who opened, wrote, took over and closed. What was typed is in no event.
 */
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { MAX_SESSIONS, SESSION_SECONDS } from '../../domain/console/console.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { Session } from '../database/database.ts';
import { recordChange } from '../events/record-change.ts';
import { appendMark } from './console-output.ts';

export interface OpenedSession {
  readonly sessionId: string;
  readonly machineId: string;
}

interface SessionRow {
  session_id: string;
  machine_id: string;
  actor_kind: Actor['kind'];
  actor_id: string;
  asked_at: Date | null;
  written_bytes: number;
  has_written: boolean;
}

/** When a change is made, and by whom. */
export interface ConsoleChange {
  readonly actor: Actor;
  readonly at: Date;
}

export async function openSession(
  session: Session,
  { sessionId, machineId }: OpenedSession,
  { actor }: ConsoleChange,
): Promise<void> {
  await session.run(
    'want-console',
    `INSERT INTO consoles AS c (machine_id, claim_at) VALUES ($1, now())
     ON CONFLICT (machine_id) DO UPDATE
       SET claim_at = CASE WHEN c.owner IS NULL THEN least(c.claim_at, now()) ELSE c.claim_at END`,
    [machineId],
  );
  const [row] = await session.run<{ sessions: number }>(
    'count-console-sessions',
    'SELECT count(*)::int AS sessions FROM console_sessions WHERE machine_id = $1',
    [machineId],
  );
  if ((row?.sessions ?? 0) >= MAX_SESSIONS) {
    throw new Fault('CONSOLE_FULL', {
      message: `the console of ${machineId} has ${MAX_SESSIONS} sessions, and no more are allowed`,
      metadata: { machine_id: machineId, limit: String(MAX_SESSIONS) },
      retryAfterSeconds: SESSION_SECONDS,
    });
  }
  await session.run(
    'open-console-session',
    `INSERT INTO console_sessions (session_id, machine_id, actor_kind, actor_id, seen_until)
     VALUES ($1, $2, $3, $4, now() + ${SESSION_SECONDS} * interval '1 s')`,
    [sessionId, machineId, actor.kind, actor.id],
  );
  await recordSession(session, { sessionId, machineId, to: 'opened', actor });
}

/** The machine of a session that is open and the caller's own. */
export async function findSessionMachine(session: Session, sessionId: string, actor: Actor): Promise<string> {
  const [row] = await session.run<{ machine_id: string }>(
    'find-console-session',
    'SELECT machine_id FROM console_sessions WHERE session_id = $1 AND actor_kind = $2 AND actor_id = $3',
    [sessionId, actor.kind, actor.id],
  );
  if (!row) throw sessionNotFound(sessionId);
  return row.machine_id;
}

/** False: it has ended. */
export async function renewSession(session: Session, sessionId: string): Promise<boolean> {
  const rows = await session.run(
    'renew-console-session',
    `UPDATE console_sessions SET seen_until = now() + ${SESSION_SECONDS} * interval '1 s' WHERE session_id = $1 RETURNING 1`,
    [sessionId],
  );
  return rows.length === 1;
}

/** Takes the turn, or asks for it. */
export async function takeTurn(
  session: Session,
  { sessionId, machineId, steal }: OpenedSession & { readonly steal: 'steal' | 'ask' },
  change: ConsoleChange,
): Promise<void> {
  const writer = await lockConsole(session, machineId);
  const { actor } = change;
  if (steal === 'steal') {
    await session.run(
      'steal-console',
      `UPDATE consoles SET steals = true WHERE machine_id = $1 AND state <> 'open'`,
      [machineId],
    );
  }
  if (writer === sessionId) return;
  if (writer !== null && steal === 'ask') {
    const rows = await session.run(
      'ask-console-turn',
      'UPDATE console_sessions SET asked_at = now() WHERE session_id = $1 AND asked_at IS NULL RETURNING 1',
      [sessionId],
    );
    if (rows.length === 0) return;
    await appendMark(session, machineId, {
      at: change.at,
      text: `${actorLabel(actor)} asks for the turn to write`,
    });
    return recordSession(session, { sessionId, machineId, to: 'turn requested', actor });
  }
  const before = writer === null ? null : await findSession(session, writer);
  await giveTurn(session, machineId, sessionId);
  const from = before ? ` from ${before.actor_kind}:${before.actor_id}` : '';
  const text = `${actorLabel(actor)} ${from ? `took the turn to write${from}` : 'writes'}`;
  await appendMark(session, machineId, { at: change.at, text });
  await recordSession(session, {
    ...{ sessionId, machineId, actor },
    to: before ? 'taken over' : 'turn taken',
    ...(before ? { taken_from: `${before.actor_kind}:${before.actor_id}` } : {}),
  });
}

/** Gives the turn back, or withdraws the request for it. */
export async function releaseTurn(
  session: Session,
  { sessionId, machineId }: OpenedSession,
  change: ConsoleChange,
): Promise<void> {
  const writer = await lockConsole(session, machineId);
  const asked = await session.run(
    'withdraw-console-turn',
    'UPDATE console_sessions SET asked_at = NULL WHERE session_id = $1 AND asked_at IS NOT NULL RETURNING 1',
    [sessionId],
  );
  if (writer !== sessionId && asked.length === 0) return;
  if (writer === sessionId) await passTurn(session, machineId, change.at);
  await recordSession(session, { sessionId, machineId, to: 'turn released', actor: change.actor });
}

export async function closeSession(
  session: Session,
  { sessionId, machineId }: OpenedSession,
  change: ConsoleChange & { readonly comment?: string },
): Promise<void> {
  const writer = await lockConsole(session, machineId);
  const [row] = await session.run<SessionRow>(
    'close-console-session',
    'DELETE FROM console_sessions WHERE session_id = $1 RETURNING *',
    [sessionId],
  );
  if (!row) return;
  if (writer === sessionId) await passTurn(session, machineId, change.at);
  await recordSession(session, {
    ...{ sessionId, machineId },
    to: 'closed',
    actor: change.actor,
    comment: change.comment ?? '',
    written_bytes: row.written_bytes,
  });
}

/** Sessions whose client is gone; how many ended. */
export async function findEndedSessions(
  session: Session,
  limit: number,
): Promise<(OpenedSession & { readonly actor: Actor })[]> {
  const rows = await session.run<SessionRow>(
    'ended-console-sessions',
    'SELECT * FROM console_sessions WHERE seen_until < now() ORDER BY seen_until LIMIT $1',
    [limit],
  );
  return rows.map((row) => ({
    sessionId: row.session_id,
    machineId: row.machine_id,
    actor: { kind: row.actor_kind, id: row.actor_id },
  }));
}

/** The session that asked first has the turn next. */
async function passTurn(session: Session, machineId: string, at: Date): Promise<void> {
  const [next] = await session.run<SessionRow>(
    'next-console-writer',
    `SELECT * FROM console_sessions s WHERE machine_id = $1 AND asked_at IS NOT NULL AND seen_until > now()
       AND session_id IS DISTINCT FROM (SELECT writer FROM consoles c WHERE c.machine_id = $1)
     ORDER BY asked_at, session_id LIMIT 1`,
    [machineId],
  );
  await giveTurn(session, machineId, next?.session_id ?? null);
  if (next) await appendMark(session, machineId, { at, text: `${next.actor_kind}:${next.actor_id} writes` });
}

async function giveTurn(session: Session, machineId: string, sessionId: string | null): Promise<void> {
  await session.run('give-console-turn', 'UPDATE consoles SET writer = $2 WHERE machine_id = $1', [
    machineId,
    sessionId,
  ]);
  await session.run(
    'start-console-turn',
    'UPDATE console_sessions SET asked_at = NULL, has_written = false WHERE session_id = $1',
    [sessionId],
  );
}

/** The session that writes. */
async function lockConsole(session: Session, machineId: string): Promise<string | null> {
  const [row] = await session.run<{ writer: string | null }>(
    'lock-console',
    'SELECT writer FROM consoles WHERE machine_id = $1 FOR NO KEY UPDATE',
    [machineId],
  );
  return row?.writer ?? null;
}

async function findSession(session: Session, sessionId: string): Promise<SessionRow | null> {
  const [row] = await session.run<SessionRow>(
    'console-session-row',
    'SELECT * FROM console_sessions WHERE session_id = $1',
    [sessionId],
  );
  return row ?? null;
}

interface RecordedSession extends OpenedSession {
  readonly to: string;
  readonly actor: Actor;
  readonly comment?: string;
  readonly [more: string]: unknown;
}

export async function recordSession(
  session: Session,
  { sessionId, machineId, to, actor, comment = '', ...more }: RecordedSession,
): Promise<void> {
  await recordChange(
    session,
    {
      ...{ kind: 'console', subject: machineId, to, actor, comment, machineId },
      metadata: { session_id: sessionId, ...more },
    },
    [`console:${machineId}`],
  );
}

export function sessionNotFound(sessionId: string): Fault {
  return new Fault('CONSOLE_SESSION_NOT_FOUND', {
    message: `there is no session ${sessionId} of a console that is yours`,
    metadata: { session_id: sessionId },
  });
}
