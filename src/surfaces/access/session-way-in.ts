/**
 * The cookie of a console session. A request that a user makes counts as use. A page that fetches by itself, or a stream that
 * is checked again, does not keep its session alive.
 */
import type { Identity, RoleTable } from '../../domain/access/caller.ts';
import type { Database } from '../../store/database/database.ts';
import { type FoundSession, findSession, touchSession } from '../../store/sessions.ts';
import { tokenKey } from '../../store/tokens.ts';
import { unauthenticated, type WayIn } from './authenticator.ts';
import type { Credentials } from './credentials.ts';
import { IdentityCache } from './identity-cache.ts';
import { earlierEnd, type IdentityEnds } from './identity-ends.ts';
import type { Issuers } from './oidc/issuers.ts';
import { checkSameOrigin } from './same-origin.ts';
import { type CookieSettings, cookieOf, SESSION_COOKIE } from './session-cookie.ts';
import { tokenIdentity } from './token-way-in.ts';

export interface SessionLimits {
  readonly idleSeconds: number;
  readonly absoluteSeconds: number;
  /** The URL under which browsers reach the console, where a proxy is in front of it. */
  readonly publicUrl: string | null;
}

export interface SessionSettings {
  readonly sessions: SessionLimits & CookieSettings;
  readonly roles: RoleTable;
  readonly issuers: Issuers;
  readonly ends: IdentityEnds;
}

/** Use is written down at most this often, and ten times within the idle limit. */
const MAX_TOUCH_MS = 60_000;
const MAX_TOUCHED = 10_000;

export class SessionWayIn implements WayIn {
  readonly #database: Database;
  readonly #limits: SessionLimits & CookieSettings;
  readonly #roles: RoleTable;
  readonly #issuers: Issuers;
  readonly #ends: IdentityEnds;
  readonly #now: () => number;
  readonly #cache: IdentityCache;
  readonly #touched = new Map<string, number>();
  /** A stream is checked with the same credentials again and again. */
  readonly #seen = new WeakSet<Credentials>();

  constructor(database: Database, { sessions, roles, issuers, ends }: SessionSettings, now: () => number) {
    this.#database = database;
    this.#limits = sessions;
    this.#roles = roles;
    this.#issuers = issuers;
    this.#ends = ends;
    this.#now = now;
    this.#cache = new IdentityCache(now);
  }

  identify(credentials: Credentials): Promise<Identity> | null {
    if (credentials.authorization) return null;
    const { cookie, source } = credentials;
    const secret = source && cookieOf(cookie, source, SESSION_COOKIE, this.#limits);
    return secret === null ? null : this.#ownerOf(secret, credentials);
  }

  async #ownerOf(secret: string, credentials: Credentials): Promise<Identity> {
    if (credentials.source) checkSameOrigin(credentials.source, this.#limits.publicUrl);
    const key = tokenKey(secret);
    const identity = await this.#cache.get(key, () => this.#lookUp(secret));
    if (!this.#seen.has(credentials) && !credentials.source?.isUnattended) {
      this.#seen.add(credentials);
      await this.#touch(key, secret);
    }
    return identity;
  }

  async #lookUp(secret: string) {
    const found = await findSession(this.#database, secret, this.#limits.idleSeconds);
    if (!found) throw unauthenticated('the session has ended; sign in again');
    const identity = this.#identityOf(found);
    const end = identity.issuer === undefined ? null : await this.#ends.check(identity.actor.id);
    const expiresAt = Math.min(
      found.expiresAt.getTime(),
      earlierEnd(identity.expiresAt, end) ?? Number.POSITIVE_INFINITY,
    );
    return {
      identity: { ...identity, via: 'session', expiresAt } as const,
      validMs: found.remainingMs,
    };
  }

  /** By the roles and mappings of today, not by those of the day when the session started. */
  #identityOf({ owner, expiresAt }: FoundSession): Identity {
    if (owner.kind === 'token') return tokenIdentity(owner.token, this.#roles);
    const issuer = this.#issuers.named(owner.issuer);
    if (!issuer) throw unauthenticated(`the issuer ${owner.issuer} is no longer configured; sign in again`);
    const mapped = this.#issuers.identityOf(issuer, owner.claims);
    return { ...mapped, via: 'oidc', expiresAt: expiresAt.getTime() };
  }

  async #touch(key: string, secret: string): Promise<void> {
    const everyMs = Math.min(MAX_TOUCH_MS, this.#limits.idleSeconds * 100);
    const now = this.#now();
    if (now - (this.#touched.get(key) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
    if (this.#touched.size >= MAX_TOUCHED) this.#touched.clear();
    this.#touched.set(key, now);
    await touchSession(this.#database, secret);
  }

  forget(): void {
    this.#cache.clear();
  }
}
