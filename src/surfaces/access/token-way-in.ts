/**
 * Bearer tokens that Ingot issued. A valid token is cached for a few seconds, so that a busy client does not cost one
 * query for each call; a revocation is announced to every replica and empties the cache at once.
 */
import { actorOf, grantOf, type Identity, type RoleTable } from '../../domain/access/caller.ts';
import { parseScope } from '../../domain/access/scope.ts';
import type { Database } from '../../store/database/database.ts';
import { findToken, type Token, tokenKey } from '../../store/tokens.ts';
import { unauthenticated, type WayIn } from './authenticator.ts';
import type { Credentials } from './credentials.ts';

interface CachedIdentity {
  readonly identity: Identity;
  readonly until: number;
}

const CACHE_MS = 5_000;
const MAX_CACHED = 10_000;
const MAX_SECRET = 512;

export class TokenWayIn implements WayIn {
  readonly #database: Database;
  readonly #roles: RoleTable;
  readonly #now: () => number;
  readonly #cache = new Map<string, CachedIdentity>();
  #lookups = new Map<string, Promise<Identity>>();

  constructor(database: Database, roles: RoleTable, now: () => number) {
    this.#database = database;
    this.#roles = roles;
    this.#now = now;
  }

  identify({ authorization }: Credentials): Promise<Identity> | null {
    return authorization === undefined || authorization === '' ? null : this.#ownerOf(authorization);
  }

  async #ownerOf(authorization: string): Promise<Identity> {
    const secret = secretOf(authorization);
    const key = tokenKey(secret);
    const cached = this.#cache.get(key);
    if (cached && cached.until > this.#now()) return cached.identity;
    // Calls of one client that arrive together share one query.
    const lookup = this.#lookups.get(key) ?? this.#lookUp(key, secret);
    this.#lookups.set(key, lookup);
    return lookup;
  }

  /** An answer to a query from before tokens changed is returned, but neither cached nor shared. */
  async #lookUp(key: string, secret: string): Promise<Identity> {
    const lookups = this.#lookups;
    try {
      const token = await findToken(this.#database, secret);
      if (!token) throw unauthenticated('the token is not known, revoked or expired');
      const identity = identityOf(token, this.#roles);
      if (lookups === this.#lookups) this.#remember(key, identity);
      return identity;
    } finally {
      lookups.delete(key);
    }
  }

  forget(): void {
    this.#cache.clear();
    this.#lookups = new Map();
  }

  #remember(key: string, identity: Identity): void {
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    const expiry = identity.expiresAt ?? Number.POSITIVE_INFINITY;
    this.#cache.set(key, { identity, until: Math.min(this.#now() + CACHE_MS, expiry) });
  }
}

function identityOf(token: Token, roles: RoleTable): Identity {
  const scope = parseScope(token.scope);
  const actor = actorOf(token.role, token.name);
  const expiresAt = token.expiresAt?.getTime() ?? null;
  return { ...grantOf(roles, { role: token.role, scope }), actor, via: 'token', expiresAt };
}

function secretOf(authorization: string): string {
  const match = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization);
  const secret = match?.[1];
  if (secret === undefined || secret.length > MAX_SECRET) {
    throw unauthenticated('the authorization header must be "Bearer <token>"');
  }
  return secret;
}
