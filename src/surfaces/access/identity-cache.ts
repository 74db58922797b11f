/**
 * Identities that were found a moment ago, by a key that opens nothing. A valid one is kept for a few seconds, so that a busy
 * client does not cost one query for each call; a revocation is announced to every replica and empties the cache at once.
 */
import type { Identity } from '../../domain/access/caller.ts';

interface CachedIdentity {
  readonly identity: Identity;
  readonly until: number;
}

export interface IdentityLookup {
  readonly identity: Identity;
  /** For how long the answer holds, if nothing is revoked. */
  readonly validMs: number;
}

const CACHE_MS = 5_000;
const MAX_CACHED = 10_000;

export class IdentityCache {
  readonly #now: () => number;
  readonly #cache = new Map<string, CachedIdentity>();
  #lookups = new Map<string, Promise<Identity>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  get(key: string, find: () => Promise<IdentityLookup>): Identity | Promise<Identity> {
    const cached = this.#cache.get(key);
    if (cached && cached.until > this.#now()) return cached.identity;
    // Calls of one client that arrive together share one query.
    const lookup = this.#lookups.get(key) ?? this.#lookUp(key, find);
    this.#lookups.set(key, lookup);
    return lookup;
  }

  /** An answer to a query from before something was revoked is returned, but neither cached nor shared. */
  async #lookUp(key: string, find: () => Promise<IdentityLookup>): Promise<Identity> {
    const lookups = this.#lookups;
    try {
      const { identity, validMs } = await find();
      if (lookups === this.#lookups) this.#remember(key, identity, validMs);
      return identity;
    } finally {
      lookups.delete(key);
    }
  }

  clear(): void {
    this.#cache.clear();
    this.#lookups = new Map();
  }

  #remember(key: string, identity: Identity, validMs: number): void {
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(key, { identity, until: this.#now() + Math.min(CACHE_MS, validMs) });
  }
}
