/** Bearer tokens: only their hashes are stored, so a copy of the database gives no access. */
import { hash, randomBytes } from 'node:crypto';
import type { Scope } from '../domain/access/scope.ts';
import type { Actor } from '../domain/actor.ts';
import { Fault } from '../domain/error/fault.ts';
import { type Database, isUniqueViolation, type Session } from './database/database.ts';
import { appendEvents } from './events/append-events.ts';

export interface Token {
  readonly name: string;
  /** viewer, operator, admin, or a role of the configuration. */
  readonly role: string;
  /** A filter over machines; empty: the whole fleet. */
  readonly scope: string;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly rotatedAt: Date | null;
  /** Until when the secret from before the rotation is valid; null where there is none. */
  readonly previousExpiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  /** The address of its last use. */
  readonly lastUsedFrom: string;
}

interface TokenRow {
  name: string;
  role: string;
  scope: string;
  created_by: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  rotated_at: Date | null;
  previous_expires_at: Date | null;
  last_used_at: Date | null;
  last_used_from: string;
}

const COLUMNS = `name, role, scope, created_by, created_at, expires_at, revoked_at, rotated_at, previous_expires_at, last_used_at,
  last_used_from`;

function tokenOf(row: TokenRow): Token {
  return {
    name: row.name,
    role: row.role,
    scope: row.scope,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    rotatedAt: row.rotated_at,
    previousExpiresAt: row.previous_expires_at,
    lastUsedAt: row.last_used_at,
    lastUsedFrom: row.last_used_from,
  };
}

export function hashToken(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** The hash as text, under which a token is cached instead of the token itself. */
export function tokenKey(secret: string): string {
  return hash('sha256', secret, 'base64');
}

/** 256 random bits. */
export function newSecret(): string {
  return `ingot_${randomBytes(32).toString('base64url')}`;
}

export interface TokenInput {
  readonly name: string;
  readonly role: string;
  readonly scope: Scope | null;
  /** The scope of the caller. */
  readonly within: Scope | null;
  readonly expiresAt: Date | null;
  readonly secret: string;
  readonly actor: Actor;
}

export async function createToken(database: Database, input: TokenInput): Promise<Token> {
  try {
    return await database.transaction(async (session) => {
      const [row] = await session.run<TokenRow & Record<string, unknown>>(
        'create-token',
        `INSERT INTO tokens (token_hash, name, role, created_by, expires_at, scope, scope_terms)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${COLUMNS}`,
        [
          hashToken(input.secret),
          input.name,
          input.role,
          input.actor.id,
          input.expiresAt,
          input.scope?.text ?? '',
          input.scope?.terms ?? [],
        ],
      );
      if (!row) throw new Error('the token was not stored');
      await appendEvents(session, [tokenEvent(tokenOf(row), '', input.role, input.actor)]);
      return tokenOf(row);
    });
  } catch (error) {
    if (!isUniqueViolation(error, 'one_live_token_per_name')) throw error;
    if (!(await listTokens(database, input.within)).some(({ name }) => name === input.name))
      throw nameNotAvailable(input.name);
    throw new Fault('TOKEN_NAME_TAKEN', {
      message: `there is a token named ${input.name} already; revoke it first or choose another name`,
      metadata: { name: input.name },
    });
  }
}

/** The token with this secret, unless it is revoked or expired. With the former secret of a rotation it expires with that. */
export function findToken(session: Session, secret: string): Promise<Token | null> {
  return findTokenByHash(session, hashToken(secret));
}

export async function findTokenByHash(session: Session, tokenHash: Buffer): Promise<Token | null> {
  const [row] = await session.run<TokenRow & { is_former: boolean } & Record<string, unknown>>(
    'find-token',
    `SELECT ${COLUMNS}, token_hash <> $1 AS is_former FROM tokens
     WHERE (token_hash = $1 OR (previous_hash = $1 AND previous_expires_at > now()))
       AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    [tokenHash],
  );
  if (!row) return null;
  const token = tokenOf(row);
  return row.is_former ? { ...token, expiresAt: token.previousExpiresAt } : token;
}

/** The actor that creates the first token, at the first start. */
export const FIRST_START = { kind: 'system', id: 'first-start' } as const;

/** Deeper than any chain of colleagues who create tokens for each other. */
const MAX_CREATORS = 100;

/**
 * Who created the live token of this name, who created that one's, and so on, the closest first. Tokens that were revoked since count:
 * a name stands for the last token that had it when it created the next. The chain ends before the server's first token: every other
 * person's token begins with that one, so it says nothing about who is the same person.
 */
export async function findTokenCreators(session: Session, name: string): Promise<string[]> {
  const rows = await session.run<{ creator: string }>(
    'token-creators',
    `WITH RECURSIVE chain(creator, created_at, depth) AS (
       SELECT created_by, created_at, 1 FROM tokens WHERE name = $1 AND revoked_at IS NULL
       UNION ALL
       SELECT t.created_by, t.created_at, chain.depth + 1 FROM chain CROSS JOIN LATERAL (
         SELECT created_by, created_at FROM tokens WHERE name = chain.creator AND created_at <= chain.created_at
         ORDER BY created_at DESC LIMIT 1) AS t
       WHERE chain.depth < ${MAX_CREATORS})
     SELECT creator FROM chain WHERE creator <> $2 AND NOT EXISTS (
       SELECT FROM tokens first WHERE first.name = chain.creator AND first.created_by = $2) ORDER BY depth`,
    [name, FIRST_START.id],
  );
  return rows.map(({ creator }) => creator);
}

/** Those whose scope is inside the given one. */
export async function listTokens(session: Session, within: Scope | null): Promise<Token[]> {
  const rows = await session.run<TokenRow & Record<string, unknown>>(
    'list-tokens',
    `SELECT ${COLUMNS} FROM tokens WHERE scope_terms @> $1::text[] ORDER BY created_at, name`,
    [within?.terms ?? []],
  );
  return rows.map(tokenOf);
}

export interface Revocation {
  readonly name: string;
  /** A token whose scope is not inside this one does not exist for the caller. */
  readonly within: Scope | null;
  readonly actor: Actor;
}

export async function revokeToken(database: Database, { name, within, actor }: Revocation): Promise<Token> {
  return database.transaction(async (session) => {
    const [row] = await session.run<TokenRow & Record<string, unknown>>(
      'revoke-token',
      `UPDATE tokens SET revoked_at = now() WHERE name = $1 AND revoked_at IS NULL AND scope_terms @> $2::text[]
       RETURNING ${COLUMNS}`,
      [name, within?.terms ?? []],
    );
    if (!row) throw tokenNotFound(name);
    await appendEvents(session, [tokenEvent(tokenOf(row), row.role, 'revoked', actor)], ['tokens']);
    return tokenOf(row);
  });
}

export interface Rotation {
  readonly name: string;
  /** A token whose scope is not inside this one does not exist for the caller. */
  readonly within: Scope | null;
  readonly secret: string;
  /** How long the former secret stays valid; never longer than it was valid anyway. */
  readonly overlapSeconds: number;
  /** Of the new secret; the same lifetime again: as long as it was to live from its creation or its last rotation. */
  readonly expiresAt: Date | null | 'same lifetime';
  readonly actor: Actor;
}

const ROTATE = `
  UPDATE tokens SET token_hash = $3, previous_hash = token_hash, rotated_at = now(),
    previous_expires_at = least(now() + make_interval(secs => $4), expires_at),
    expires_at = CASE WHEN $6 THEN now() + (expires_at - coalesce(rotated_at, created_at)) ELSE $5::timestamptz END
  WHERE name = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AND scope_terms @> $2::text[]
  RETURNING ${COLUMNS}`;

/** A secret from before an earlier rotation is not valid any more, whatever its overlap was. */
export async function rotateToken(database: Database, rotation: Rotation): Promise<Token> {
  const { name, within, secret, overlapSeconds, expiresAt, actor } = rotation;
  const isSame = expiresAt === 'same lifetime';
  return database.transaction(async (session) => {
    const [row] = await session.run<TokenRow & Record<string, unknown>>('rotate-token', ROTATE, [
      name,
      within?.terms ?? [],
      hashToken(secret),
      overlapSeconds,
      isSame ? null : expiresAt,
      isSame,
    ]);
    if (!row) throw tokenNotFound(name);
    await appendEvents(session, [tokenEvent(tokenOf(row), row.role, 'rotated', actor)], ['tokens']);
    return tokenOf(row);
  });
}

function tokenNotFound(name: string): Fault {
  return new Fault('TOKEN_NOT_FOUND', {
    message: `there is no live token named ${name}`,
    metadata: { name },
  });
}

/** The token that has the name is outside of the caller's scope: nothing about it is said. */
function nameNotAvailable(name: string): Fault {
  return new Fault('OUT_OF_SCOPE', {
    message: `the name ${name} is not available; choose another one`,
    metadata: { name },
  });
}

function tokenEvent({ name, scope }: Token, from: string, to: string, actor: Actor) {
  return {
    kind: 'token',
    subject: name,
    from,
    to,
    actor,
    comment: '',
    metadata: scope === '' ? {} : { scope },
    machineId: null,
    operationId: null,
    snapshot: null,
  } as const;
}
