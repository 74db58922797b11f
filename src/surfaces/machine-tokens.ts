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

/** As small as it can be: a replica may know a million. */
class KnownBearer implements AgentBearer {
  readonly machineId: string;
  readonly poolName: string;
  readonly providerName: string;
  readonly until: number;
  readonly #key: string;
  readonly #issuedMs: number;
  readonly #expiresMs: number | null;

  constructor(key: string, owner: TokenOwner, { until, names }: { until: number; names: Names }) {
    this.machineId = owner.machineId;
    this.poolName = names.one(owner.poolName);
    this.providerName = names.one(owner.providerName);
    this.until = until;
    this.#key = key;
    this.#issuedMs = owner.issuedAt.getTime();
    this.#expiresMs = owner.expiresAt?.getTime() ?? null;
  }

  get tokenHash(): Buffer {
    return Buffer.from(this.#key, 'base64');
  }

  get issuedAt(): Date {
    return new Date(this.#issuedMs);
  }

  get expiresAt(): Date | null {
    return this.#expiresMs === null ? null : new Date(this.#expiresMs);
  }
}

/** The same text once, and not again for each agent: a fleet has few pools. */
class Names {
  readonly #names = new Map<string, string>();

  one(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    if (this.#names.size >= MAX_NAMES) this.#names.clear();
    this.#names.set(name, name);
    return name;
  }
}

const CACHE_MS = 600_000;
/**
 * More than one PostgreSQL carries agents. A cache that is too small for its fleet finds nothing: all agents call in turn, so
 * each is forgotten before it calls again.
 */
const MAX_CACHED = 2_000_000;
const MAX_NAMES = 10_000;
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
  readonly #names = new Names();
  #cache = new Map<string, KnownBearer>();

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
    const owner = await this.#lookups.submit(Buffer.from(key, 'base64'));
    if (owner === null || owner === 'revoked') return owner;
    const until = Math.min(this.#now() + CACHE_MS, owner.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY);
    const bearer = new KnownBearer(key, owner, { until, names: this.#names });
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
    return cached && cached.until > this.#now() ? cached : null;
  }

  #remember(key: string, bearer: KnownBearer): void {
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(key, bearer);
  }
}
