/**
 * The machine whose agent presents a client certificate. The certificate takes the place of the machine's token: an operator has
 * created the machine, and where its token is revoked or has expired unused, its certificate is no way in either. Lookups are
 * cached and batched as those of tokens are.
 */
import type { PeerCertificate } from 'node:tls';
import { type AgentBearer, findAgentsByMachines } from '../../store/agents/agents.ts';
import { Coalescer } from '../../store/database/coalescer.ts';
import { type Database, isStatementError } from '../../store/database/database.ts';
import type { CertificateMapping } from './certificates-configuration.ts';
import { isAgentMapping, isCurrent, mappedCertificate } from './mapped-certificate.ts';

interface CachedBearer {
  readonly bearer: AgentBearer;
  readonly until: number;
}

const CACHE_MS = 600_000;
const MAX_CACHED = 500_000;

export class MachineCertificates {
  readonly #mappings: readonly CertificateMapping[];
  readonly #now: () => number;
  readonly #lookups: Coalescer<string, AgentBearer | 'revoked' | null>;
  #cache = new Map<string, CachedBearer>();

  constructor(database: Database, mappings: readonly CertificateMapping[], now: () => number) {
    this.#mappings = mappings;
    this.#now = now;
    this.#lookups = new Coalescer({
      maxBatch: 1_000,
      maxUnderWay: 1,
      flush: (machineIds) => findAgentsByMachines(database, machineIds),
      isPoisoned: isStatementError,
    });
  }

  /** Null: it is no agent's, or of an unknown machine. Revoked: its machine was removed for good. */
  async owner(certificate: PeerCertificate): Promise<AgentBearer | 'revoked' | null> {
    const mapped = mappedCertificate(this.#mappings, certificate);
    if (!mapped || !isAgentMapping(mapped.mapping) || !isCurrent(certificate, this.#now())) return null;
    const { machineId, pool } = mapped.mapping;
    const bearer = await this.#find(machineId ?? mapped.rest);
    if (bearer === null || bearer === 'revoked') return bearer;
    return pool === null || bearer.poolName === pool ? bearer : null;
  }

  /** Empties the cache, because machines or tokens may have changed. */
  forget(): void {
    this.#cache = new Map();
  }

  async #find(machineId: string): Promise<AgentBearer | 'revoked' | null> {
    const cached = this.#cache.get(machineId);
    if (cached && cached.until > this.#now()) return cached.bearer;
    const cache = this.#cache;
    const bearer = await this.#lookups.submit(machineId);
    if (bearer === null || bearer === 'revoked' || cache !== this.#cache) return bearer;
    if (cache.size >= MAX_CACHED) cache.clear();
    const expiry = bearer.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    cache.set(machineId, { bearer, until: Math.min(this.#now() + CACHE_MS, expiry) });
    return bearer;
  }
}
