/**
 * Who is calling. A valid token is cached for a few seconds, so that a busy client does not cost one query for each
 * call; a revocation is announced to every replica and empties the cache at once.
 */
import type { Actor, Role } from '../domain/actor.ts';
import { Fault } from '../domain/error/fault.ts';
import type { Database } from '../store/database/database.ts';
import { findToken, type Token, tokenKey } from '../store/tokens.ts';

export interface Caller {
  readonly actor: Actor;
  readonly role: Role;
}

interface CachedCaller {
  readonly caller: Caller;
  readonly until: number;
}

const CACHE_MS = 5_000;
const MAX_CACHED = 10_000;
const MAX_SECRET = 512;

export class Authenticator {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #cache = new Map<string, CachedCaller>();
  #lookups = new Map<string, Promise<Caller>>();

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  async caller(authorization: string | undefined): Promise<Caller> {
    const secret = secretOf(authorization);
    const key = tokenKey(secret);
    const cached = this.#cache.get(key);
    if (cached && cached.until > this.#now()) return cached.caller;
    // Calls of one client that arrive together share one query.
    const lookup = this.#lookups.get(key) ?? this.#lookUp(key, secret);
    this.#lookups.set(key, lookup);
    return lookup;
  }

  /** An answer to a query from before tokens changed is returned, but neither cached nor shared. */
  async #lookUp(key: string, secret: string): Promise<Caller> {
    const lookups = this.#lookups;
    try {
      const token = await findToken(this.#database, secret);
      if (!token) throw unauthenticated('the token is not known, revoked or expired');
      const caller = callerOf(token);
      if (lookups === this.#lookups) this.#remember(key, caller, token);
      return caller;
    } finally {
      lookups.delete(key);
    }
  }

  /** Empties the cache, because tokens may have changed. */
  forget(): void {
    this.#cache.clear();
    this.#lookups = new Map();
  }

  #remember(key: string, caller: Caller, token: Token): void {
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    const expiry = token.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    this.#cache.set(key, { caller, until: Math.min(this.#now() + CACHE_MS, expiry) });
  }
}

function callerOf(token: Token): Caller {
  const kind = token.role === 'admin' ? 'admin' : 'operator';
  return { actor: { kind, id: token.name }, role: token.role };
}

function secretOf(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '')
    throw unauthenticated('a bearer token is required');
  const match = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization);
  const secret = match?.[1];
  if (secret === undefined || secret.length > MAX_SECRET) {
    throw unauthenticated('the authorization header must be "Bearer <token>"');
  }
  return secret;
}

function unauthenticated(message: string): Fault {
  return new Fault('UNAUTHENTICATED', { message });
}
