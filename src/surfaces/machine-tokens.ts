/**
 * The machine whose token an agent sends. A known token is cached for minutes, because the same agents call again and
 * again; a replaced token is announced to every replica and empties the cache at once. Unknown tokens share batched
 * lookups, one batch at a time, so that they never delay known ones.
 */
import { findAgentsByTokens, type TokenOwner } from '../store/agents/agents.ts';
import { Coalescer } from '../store/database/coalescer.ts';
import { type Database, isStatementError } from '../store/database/database.ts';
import { tokenKey } from '../store/tokens.ts';

export interface TokenBearer extends TokenOwner {
  readonly tokenHash: Buffer;
}

interface Believed {
  readonly bearer: TokenBearer;
  readonly until: number;
}

const BELIEVE_MS = 600_000;
const MAX_BELIEVED = 500_000;
const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;

export class MachineTokens {
  readonly #now: () => number;
  readonly #lookups: Coalescer<Buffer, TokenOwner | 'revoked' | null>;
  #believed = new Map<string, Believed>();

  constructor(database: Database, now: () => number) {
    this.#now = now;
    this.#lookups = new Coalescer({
      maxBatch: 1_000,
      maxUnderWay: 1,
      flush: (hashes) => findAgentsByTokens(database, hashes),
      isPoisoned: isStatementError,
    });
  }

  /** Null: the token is unknown. Revoked: it was revoked for good. */
  async owner(authorization: string | undefined): Promise<TokenBearer | 'revoked' | null> {
    const secret = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
    if (secret === undefined) return null;
    const key = tokenKey(secret);
    const believed = this.#believed.get(key);
    if (believed && believed.until > this.#now()) return believed.bearer;
    const asked = this.#believed;
    const tokenHash = Buffer.from(key, 'base64');
    const owner = await this.#lookups.submit(tokenHash);
    if (owner === null || owner === 'revoked') return owner;
    const bearer = { ...owner, tokenHash };
    if (asked === this.#believed) this.#believe(key, bearer);
    return bearer;
  }

  /** Empties the cache, because tokens may have changed. */
  forget(): void {
    this.#believed = new Map();
  }

  #believe(key: string, bearer: TokenBearer): void {
    if (this.#believed.size >= MAX_BELIEVED) this.#believed.clear();
    const expiry = bearer.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    this.#believed.set(key, { bearer, until: Math.min(this.#now() + BELIEVE_MS, expiry) });
  }
}
