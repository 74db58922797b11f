/**
 * The machine whose token an agent sends. A known token is cached for minutes, because the same agents call again and
 * again; a replaced token is announced to every replica and empties the cache at once. Unknown tokens share batched
 * lookups, one batch at a time, so that they never delay known ones.
 */
import { type AgentBearer, findAgentsByTokens, type TokenOwner } from '../store/agents/agents.ts';
import { promoteAgentTokens } from '../store/agents/rotate-agent-token.ts';
import { Coalescer } from '../store/database/coalescer.ts';
import { type Database, isStatementError } from '../store/database/database.ts';
import { tokenKey } from '../store/tokens.ts';

interface CachedBearer {
  readonly bearer: AgentBearer;
  readonly until: number;
}

const CACHE_MS = 600_000;
/**
 * More than one PostgreSQL carries agents. A cache that is too small for its fleet finds nothing: all agents call in turn, so
 * each is forgotten before it calls again.
 */
const MAX_CACHED = 2_000_000;
const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;

function keyOf(authorization: string | undefined): string | null {
  const secret = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
  return secret === undefined ? null : tokenKey(secret);
}

/** A token that is in use for the first time after a rotation takes the place of the former one. */
async function findOwners(database: Database, hashes: readonly Buffer[]) {
  const owners = await findAgentsByTokens(database, hashes);
  const unknown = hashes.filter((_hash, place) => owners[place] === null);
  if (unknown.length === 0 || (await promoteAgentTokens(database, unknown)) === 0) return owners;
  return findAgentsByTokens(database, hashes);
}

export class MachineTokens {
  readonly #now: () => number;
  readonly #lookups: Coalescer<Buffer, TokenOwner | 'revoked' | null>;
  #cache = new Map<string, CachedBearer>();

  constructor(database: Database, now: () => number) {
    this.#now = now;
    this.#lookups = new Coalescer({
      maxBatch: 1_000,
      maxUnderWay: 1,
      flush: (hashes) => findOwners(database, hashes),
      isPoisoned: isStatementError,
    });
  }

  /** Null: the token is unknown. Revoked: it was revoked for good. */
  async owner(authorization: string | undefined): Promise<AgentBearer | 'revoked' | null> {
    const key = keyOf(authorization);
    if (key === null) return null;
    const known = this.#cached(key);
    if (known !== null) return known;
    const cache = this.#cache;
    const tokenHash = Buffer.from(key, 'base64');
    const owner = await this.#lookups.submit(tokenHash);
    if (owner === null || owner === 'revoked') return owner;
    const bearer = { ...owner, tokenHash };
    if (cache === this.#cache) this.#remember(key, bearer);
    return bearer;
  }

  /** As far as it is known without asking the database; null says nothing about the token. */
  known(authorization: string): AgentBearer | null {
    const key = keyOf(authorization);
    return key === null ? null : this.#cached(key);
  }

  /** Empties the cache, because tokens may have changed. */
  forget(): void {
    this.#cache = new Map();
  }

  #cached(key: string): AgentBearer | null {
    const cached = this.#cache.get(key);
    return cached && cached.until > this.#now() ? cached.bearer : null;
  }

  #remember(key: string, bearer: AgentBearer): void {
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    const expiry = bearer.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    this.#cache.set(key, { bearer, until: Math.min(this.#now() + CACHE_MS, expiry) });
  }
}
