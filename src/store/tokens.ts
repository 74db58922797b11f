/** Bearer tokens: only their hashes are stored, so a copy of the database gives no access. */
import { hash, randomBytes } from 'node:crypto';
import type { Actor, Role } from '../domain/actor.ts';
import { Fault } from '../domain/error/fault.ts';
import { type Database, isUniqueViolation, type Session } from './database/database.ts';
import { appendEvents } from './events/append-events.ts';

export interface Token {
  readonly name: string;
  readonly role: Role;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

interface TokenRow {
  name: string;
  role: Role;
  created_by: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
}

const COLUMNS = 'name, role, created_by, created_at, expires_at, revoked_at';

function tokenOf(row: TokenRow): Token {
  return {
    name: row.name,
    role: row.role,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
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
  readonly role: Role;
  readonly expiresAt: Date | null;
  readonly secret: string;
  readonly actor: Actor;
}

export async function createToken(database: Database, input: TokenInput): Promise<Token> {
  try {
    return await database.transaction(async (session) => {
      const [row] = await session.run<TokenRow & Record<string, unknown>>(
        'create-token',
        `INSERT INTO tokens (token_hash, name, role, created_by, expires_at) VALUES ($1, $2, $3, $4, $5)
         RETURNING ${COLUMNS}`,
        [hashToken(input.secret), input.name, input.role, input.actor.id, input.expiresAt],
      );
      if (!row) throw new Error('the token was not stored');
      await appendEvents(session, [tokenEvent(input.name, '', input.role, input.actor)]);
      return tokenOf(row);
    });
  } catch (error) {
    if (!isUniqueViolation(error, 'one_live_token_per_name')) throw error;
    throw new Fault('TOKEN_NAME_TAKEN', {
      message: `there is a token named ${input.name} already; revoke it first or choose another name`,
      metadata: { name: input.name },
    });
  }
}

/** The token with this secret, unless it is revoked or expired. */
export async function findToken(session: Session, secret: string): Promise<Token | null> {
  const [row] = await session.run<TokenRow & Record<string, unknown>>(
    'find-token',
    `SELECT ${COLUMNS} FROM tokens
     WHERE token_hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    [hashToken(secret)],
  );
  return row ? tokenOf(row) : null;
}

export async function listTokens(session: Session): Promise<Token[]> {
  const rows = await session.run<TokenRow & Record<string, unknown>>(
    'list-tokens',
    `SELECT ${COLUMNS} FROM tokens ORDER BY created_at, name`,
  );
  return rows.map(tokenOf);
}

export async function revokeToken(database: Database, name: string, actor: Actor): Promise<Token> {
  return database.transaction(async (session) => {
    const [row] = await session.run<TokenRow & Record<string, unknown>>(
      'revoke-token',
      `UPDATE tokens SET revoked_at = now() WHERE name = $1 AND revoked_at IS NULL RETURNING ${COLUMNS}`,
      [name],
    );
    if (!row) {
      throw new Fault('TOKEN_NOT_FOUND', {
        message: `there is no live token named ${name}`,
        metadata: { name },
      });
    }
    await appendEvents(session, [tokenEvent(name, row.role, 'revoked', actor)], ['tokens']);
    return tokenOf(row);
  });
}

function tokenEvent(name: string, from: string, to: string, actor: Actor) {
  return {
    kind: 'token',
    subject: name,
    from,
    to,
    actor,
    comment: '',
    metadata: {},
    machineId: null,
    operationId: null,
    snapshot: null,
  } as const;
}
