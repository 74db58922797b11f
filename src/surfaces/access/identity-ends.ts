/**
 * Refuses identities of issuers and certificates that an admin has revoked. An answer is kept for a few seconds, as those about
 * tokens are; a revocation is announced to every replica and empties this at once.
 */
import type { Database } from '../../store/database/database.ts';
import { readIdentityEnd } from '../../store/identities.ts';
import { unauthenticated } from './authenticator.ts';

const CACHE_MS = 5_000;
const MAX_CACHED = 10_000;

interface KnownEnd {
  /** In milliseconds since 1970. */
  readonly endsAt: number | null;
  readonly until: number;
}

export class IdentityEnds {
  readonly #database: Database;
  readonly #now: () => number;
  #known = new Map<string, KnownEnd>();

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /** Throws where it is refused. Otherwise when it will be, in milliseconds since 1970; null: never. */
  async check(identity: string): Promise<number | null> {
    const endsAt = await this.#endOf(identity);
    if (endsAt !== null && endsAt <= this.#now())
      throw unauthenticated(`the access of ${identity} was revoked; ask an admin to restore it`);
    return endsAt;
  }

  async #endOf(identity: string): Promise<number | null> {
    const known = this.#known;
    const cached = known.get(identity);
    if (cached && cached.until > this.#now()) return cached.endsAt;
    const endsAt = (await readIdentityEnd(this.#database, identity))?.getTime() ?? null;
    // An answer to a query from before a revocation goes into a map that is gone.
    if (known.size >= MAX_CACHED) known.clear();
    known.set(identity, { endsAt, until: this.#now() + CACHE_MS });
    return endsAt;
  }

  forget(): void {
    this.#known = new Map();
  }
}

/** The earlier of two ends; null: never. */
export function earlierEnd(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right;
  return Math.min(left, right);
}
