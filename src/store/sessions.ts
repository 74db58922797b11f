/**
 * Sessions of the console: only the hashes of their secrets are stored. A session is no identity of its own: it stands for the
 * token, or for the claims of an issuer, that it was started with. What ends those ends the session.
 */
import type { Actor } from '../domain/actor.ts';
import type { Database, Session } from './database/database.ts';
import { recordChange } from './events/record-change.ts';
import { findTokenByHash, hashToken, type Token } from './tokens.ts';

/** The claims of an issuer's token that decide who someone is and what they may do. */
export type IdentityClaims = Readonly<Record<string, unknown>>;

export type SessionOwner =
  | { readonly kind: 'token'; readonly tokenHash: Buffer }
  | {
      readonly kind: 'issuer';
      readonly issuer: string;
      readonly claims: IdentityClaims;
      /** When the issuer's word expires; null: with the session. */
      readonly expiresAt: Date | null;
    };

export interface NewSession {
  readonly secret: string;
  readonly sessionId: string;
  readonly owner: SessionOwner;
  readonly absoluteSeconds: number;
  /** Whose session it is, with the origin of the call. */
  readonly actor: Actor;
}

export interface FoundSession {
  readonly sessionId: string;
  readonly owner:
    | { readonly kind: 'token'; readonly token: Token }
    | { readonly kind: 'issuer'; readonly issuer: string; readonly claims: IdentityClaims };
  readonly expiresAt: Date;
  /** Until it is over, if it is not used again. */
  readonly remainingMs: number;
}

interface SessionRow extends Record<string, unknown> {
  session_id: string;
  token_hash: Buffer | null;
  issuer: string | null;
  claims: IdentityClaims | null;
  expires_at: Date;
  remaining_ms: number;
}

/** A session ends with its token, if that is earlier than its own end. Rows that ended long ago are removed on the way. */
const CREATE = `WITH removed AS (DELETE FROM sessions
    WHERE ended_at IS NOT NULL AND expires_at < now() - interval '1 day')
  INSERT INTO sessions (session_hash, session_id, token_hash, issuer, claims, expires_at)
  SELECT $1, $2, $3, $4, $5::jsonb, least(now() + make_interval(secs => $6), $7::timestamptz,
    (SELECT expires_at FROM tokens WHERE token_hash = $3))
  RETURNING expires_at`;

export async function createSession(database: Database, input: NewSession): Promise<Date> {
  const { owner } = input;
  const isToken = owner.kind === 'token';
  return database.transaction(async (session) => {
    const [row] = await session.run<{ expires_at: Date }>('create-session', CREATE, [
      hashToken(input.secret),
      input.sessionId,
      isToken ? owner.tokenHash : null,
      isToken ? null : owner.issuer,
      isToken ? null : JSON.stringify(owner.claims),
      input.absoluteSeconds,
      isToken ? null : owner.expiresAt,
    ]);
    if (!row) throw new Error('the session was not stored');
    await recordChange(session, {
      kind: 'session',
      subject: input.sessionId,
      to: 'created',
      actor: input.actor,
      metadata: { expires_at: row.expires_at.toISOString(), ...(isToken ? {} : { issuer: owner.issuer }) },
    });
    return row.expires_at;
  });
}

/** Someone whom the issuer knows, and who has no role here. */
export async function recordRefusedSignIn(database: Database, actor: Actor, issuer: string): Promise<void> {
  await database.transaction((session) =>
    recordChange(session, {
      kind: 'session',
      subject: actor.id,
      to: 'refused',
      actor,
      comment: 'no mapping of the issuer matches',
      metadata: { issuer },
    }),
  );
}

/** The session with this secret, unless it has ended, expired, or was not used for too long. */
export async function findSession(
  session: Session,
  secret: string,
  idleSeconds: number,
): Promise<FoundSession | null> {
  const [row] = await session.run<SessionRow>(
    'find-session',
    `SELECT session_id, token_hash, issuer, claims, expires_at,
       (extract(epoch FROM least(expires_at, used_at + make_interval(secs => $2)) - now()) * 1000)::float8 AS remaining_ms
     FROM sessions
     WHERE session_hash = $1 AND ended_at IS NULL AND expires_at > now()
       AND used_at > now() - make_interval(secs => $2)`,
    [hashToken(secret), idleSeconds],
  );
  if (!row) return null;
  const owner = await ownerOf(session, row);
  return (
    owner && {
      sessionId: row.session_id,
      owner,
      expiresAt: row.expires_at,
      remainingMs: row.remaining_ms,
    }
  );
}

async function ownerOf(session: Session, row: SessionRow): Promise<FoundSession['owner'] | null> {
  if (row.token_hash !== null) {
    const token = await findTokenByHash(session, row.token_hash);
    return token && { kind: 'token', token };
  }
  if (row.issuer === null || row.claims === null) return null;
  return { kind: 'issuer', issuer: row.issuer, claims: row.claims };
}

/** Its idle time starts again. */
export async function touchSession(session: Session, secret: string): Promise<void> {
  await session.run(
    'touch-session',
    'UPDATE sessions SET used_at = now() WHERE session_hash = $1 AND ended_at IS NULL',
    [hashToken(secret)],
  );
}

/** Every replica forgets it when this commits. */
export async function endSession(database: Database, secret: string, actor: Actor): Promise<void> {
  await database.transaction(async (session) => {
    const [row] = await session.run<{ session_id: string }>(
      'end-session',
      `UPDATE sessions SET ended_at = now() WHERE session_hash = $1 AND ended_at IS NULL AND expires_at > now()
       RETURNING session_id`,
      [hashToken(secret)],
    );
    if (!row) return;
    await recordChange(session, { kind: 'session', subject: row.session_id, to: 'ended', actor }, ['tokens']);
  });
}
