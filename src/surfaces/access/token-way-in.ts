/** Bearer tokens that Ingot issued. */
import { actorOf, grantOf, type Identity, type RoleTable } from '../../domain/access/caller.ts';
import { parseScope } from '../../domain/access/scope.ts';
import type { Database } from '../../store/database/database.ts';
import { findToken, type Token, tokenKey } from '../../store/tokens.ts';
import { unauthenticated, type WayIn } from './authenticator.ts';
import type { Credentials } from './credentials.ts';
import { IdentityCache } from './identity-cache.ts';

const MAX_SECRET = 512;

export class TokenWayIn implements WayIn {
  readonly #database: Database;
  readonly #roles: RoleTable;
  readonly #now: () => number;
  readonly #cache: IdentityCache;

  constructor(database: Database, roles: RoleTable, now: () => number) {
    this.#database = database;
    this.#roles = roles;
    this.#now = now;
    this.#cache = new IdentityCache(now);
  }

  identify({ authorization }: Credentials): Identity | Promise<Identity> | null {
    return authorization === undefined || authorization === '' ? null : this.#ownerOf(authorization);
  }

  #ownerOf(authorization: string): Identity | Promise<Identity> {
    const secret = secretOf(authorization);
    return this.#cache.get(tokenKey(secret), async () => {
      const token = await findToken(this.#database, secret);
      if (!token) throw unauthenticated('the token is not known, revoked or expired');
      const identity = tokenIdentity(token, this.#roles);
      return { identity, validMs: (identity.expiresAt ?? Number.POSITIVE_INFINITY) - this.#now() };
    });
  }

  forget(): void {
    this.#cache.clear();
  }
}

export function tokenIdentity(token: Token, roles: RoleTable): Identity {
  const scope = parseScope(token.scope);
  const actor = actorOf(token.role, token.name);
  const expiresAt = token.expiresAt?.getTime() ?? null;
  return { ...grantOf(roles, { role: token.role, scope }), actor, via: 'token', expiresAt };
}

function secretOf(authorization: string): string {
  const secret = bearerToken(authorization);
  if (secret === null || secret.length > MAX_SECRET)
    throw unauthenticated('the authorization header must be "Bearer <token>"');
  return secret;
}

/** The token of an authorization header; null where it is of another form. */
export function bearerToken(authorization: string | undefined): string | null {
  return /^Bearer +([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1] ?? null;
}
