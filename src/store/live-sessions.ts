/**
 * The sessions of the console that have not ended, for admins. One of a token is there for those whose scope has the token; one of
 * an issuer's identity for those without a scope.
 */
import type { Scope } from '../domain/access/scope.ts';
import type { Actor } from '../domain/actor.ts';
import type { Database, Session } from './database/database.ts';
import { recordChange } from './events/record-change.ts';

export interface LiveSession {
  readonly sessionId: string;
  readonly identity: string;
  /** Its name; empty for an issuer's identity. */
  readonly token: string;
  /** Empty for a token. */
  readonly issuer: string;
  readonly createdAt: Date;
  readonly usedAt: Date;
  readonly expiresAt: Date;
}

interface LiveRow extends Record<string, unknown> {
  session_id: string;
  identity: string | null;
  token: string | null;
  issuer: string | null;
  created_at: Date;
  used_at: Date;
  expires_at: Date;
}

/** $1: the terms of the caller's scope. */
const LIVE = `
  SELECT s.session_id, t.name AS token, s.issuer, s.created_at, s.used_at, s.expires_at,
    (SELECT e.actor_id FROM events e WHERE e.kind = 'session' AND e.subject = s.session_id
     ORDER BY e.event_id LIMIT 1) AS identity
  FROM sessions s
  LEFT JOIN tokens t ON s.token_hash IN (t.token_hash, t.previous_hash)
  WHERE s.ended_at IS NULL AND s.expires_at > now()
    AND (cardinality($1::text[]) = 0 OR t.scope_terms @> $1::text[])`;

export async function listSessions(session: Session, within: Scope | null): Promise<LiveSession[]> {
  const rows = await session.run<LiveRow>(
    'list-sessions',
    `${LIVE} ORDER BY s.used_at DESC, s.session_id LIMIT 1000`,
    [within?.terms ?? []],
  );
  return rows.map(sessionOf);
}

export interface SessionEnd {
  readonly sessionId: string;
  /** A session that is not inside this scope does not exist for the caller. */
  readonly within: Scope | null;
  readonly actor: Actor;
  readonly comment: string;
}

/** Null: there is none, or it has ended. Every replica forgets it when this commits. */
export async function endSessionById(database: Database, end: SessionEnd): Promise<LiveSession | null> {
  const { sessionId, within, actor, comment } = end;
  return database.transaction(async (session) => {
    const [row] = await session.run<LiveRow>(
      'live-session',
      `${LIVE} AND s.session_id = $2 FOR UPDATE OF s`,
      [within?.terms ?? [], sessionId],
    );
    if (!row) return null;
    await session.run('end-session-by-id', 'UPDATE sessions SET ended_at = now() WHERE session_id = $1', [
      sessionId,
    ]);
    await recordChange(session, { kind: 'session', subject: sessionId, to: 'ended', actor, comment }, [
      'tokens',
    ]);
    return sessionOf(row);
  });
}

function sessionOf(row: LiveRow): LiveSession {
  return {
    sessionId: row.session_id,
    identity: row.identity ?? row.token ?? '',
    token: row.token ?? '',
    issuer: row.issuer ?? '',
    createdAt: row.created_at,
    usedAt: row.used_at,
    expiresAt: row.expires_at,
  };
}
