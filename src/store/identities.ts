/**
 * Identities that are not tokens: those of issuers and of client certificates. The configuration lets them in; an admin can end
 * that for one of them, now or at a time, without waiting for the issuer or for a restart.
 */
import type { Scope } from '../domain/access/scope.ts';
import type { Actor } from '../domain/actor.ts';
import type { Database, Session } from './database/database.ts';
import { recordChange } from './events/record-change.ts';

export interface KnownIdentity {
  readonly identity: string;
  /** Empty: it was never used. */
  readonly way: '' | 'oidc' | 'certificate';
  readonly issuer: string;
  readonly role: string;
  readonly scope: string;
  readonly firstUsedAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly lastUsedFrom: string;
  /** From then on it is refused; null: it is not. */
  readonly endsAt: Date | null;
  readonly endedBy: string;
  readonly endReason: string;
}

interface IdentityRow extends Record<string, unknown> {
  identity: string;
  way: KnownIdentity['way'];
  issuer: string;
  role: string;
  scope: string;
  first_used_at: Date | null;
  last_used_at: Date | null;
  last_used_from: string;
  ends_at: Date | null;
  ended_by: string;
  end_reason: string;
}

const COLUMNS = `identity, way, issuer, role, scope, first_used_at, last_used_at, last_used_from, ends_at, ended_by, end_reason`;
const MOST = 1_000;

function identityOf(row: IdentityRow): KnownIdentity {
  return {
    identity: row.identity,
    way: row.way,
    issuer: row.issuer,
    role: row.role,
    scope: row.scope,
    firstUsedAt: row.first_used_at,
    lastUsedAt: row.last_used_at,
    lastUsedFrom: row.last_used_from,
    endsAt: row.ends_at,
    endedBy: row.ended_by,
    endReason: row.end_reason,
  };
}

/** The one that was used last is first. A caller with a scope sees those inside of it. */
export async function listIdentities(session: Session, within: Scope | null): Promise<KnownIdentity[]> {
  const rows = await session.run<IdentityRow>(
    'list-identities',
    `SELECT ${COLUMNS} FROM identities WHERE cardinality($1::text[]) = 0 OR scope_terms @> $1::text[]
     ORDER BY last_used_at DESC NULLS LAST, identity LIMIT ${MOST}`,
    [within?.terms ?? []],
  );
  return rows.map(identityOf);
}

/** When it is refused; null: it is not, or is not known. */
export async function readIdentityEnd(session: Session, identity: string): Promise<Date | null> {
  const [row] = await session.run<{ ends_at: Date | null }>(
    'identity-end',
    'SELECT ends_at FROM identities WHERE identity = $1',
    [identity],
  );
  return row?.ends_at ?? null;
}

export interface IdentityEnd {
  readonly identity: string;
  /** Null: at once. */
  readonly at: Date | null;
  readonly actor: Actor;
  readonly reason: string;
}

/** Also of one that was never seen: who leaves before the first day must not come in on it. Its sessions end with it. */
const END = `
  INSERT INTO identities (identity, ends_at, ended_by, end_reason) VALUES ($1, coalesce($2::timestamptz, now()), $3, $4)
  ON CONFLICT (identity) DO UPDATE SET ends_at = EXCLUDED.ends_at, ended_by = EXCLUDED.ended_by, end_reason = EXCLUDED.end_reason
  RETURNING ${COLUMNS}`;

const END_SESSIONS = `
  UPDATE sessions s SET ended_at = now()
  WHERE s.ended_at IS NULL AND s.issuer IS NOT NULL AND EXISTS (
    SELECT FROM events e WHERE e.kind = 'session' AND e.subject = s.session_id AND e.actor_id = $1)`;

/** Every replica refuses it when this commits. */
export async function endIdentity(database: Database, end: IdentityEnd): Promise<KnownIdentity> {
  const { identity, at, actor, reason } = end;
  return database.transaction(async (session) => {
    const [row] = await session.run<IdentityRow>('end-identity', END, [
      identity,
      at,
      `${actor.kind}:${actor.id}`,
      reason,
    ]);
    if (!row) throw new Error('the end of the identity was not stored');
    if (at === null) await session.run('end-identity-sessions', END_SESSIONS, [identity]);
    await recordChange(
      session,
      {
        kind: 'session',
        subject: identity,
        to: 'revoked',
        actor,
        comment: reason,
        metadata: { ends_at: row.ends_at?.toISOString() ?? '' },
      },
      ['tokens'],
    );
    return identityOf(row);
  });
}

/** Null: it is not known, or was not revoked. */
export async function restoreIdentity(
  database: Database,
  { identity, actor, reason }: Omit<IdentityEnd, 'at'>,
): Promise<KnownIdentity | null> {
  return database.transaction(async (session) => {
    const [row] = await session.run<IdentityRow>(
      'restore-identity',
      `UPDATE identities SET ends_at = NULL, ended_by = '', end_reason = ''
       WHERE identity = $1 AND ends_at IS NOT NULL RETURNING ${COLUMNS}`,
      [identity],
    );
    if (!row) return null;
    const change = { kind: 'session', subject: identity, to: 'restored', actor, comment: reason } as const;
    await recordChange(session, change, ['tokens']);
    return identityOf(row);
  });
}
