/** Pools with their health, for every surface of a replica. */
import type { Scope } from '../../domain/access/scope.ts';
import type { Session } from '../database/database.ts';
import type { KeepaliveStore } from './keepalive-store.ts';
import { NO_FIGURES, type PoolFigures, type PoolHealth, readPoolFigures } from './pool-health.ts';
import { listPools } from './pools.ts';
import { RestingRead } from './resting-read.ts';

export interface PoolReaderOptions {
  readonly session: Session;
  readonly keepalives: KeepaliveStore;
  readonly monotonicNow: () => number;
}

/** Below so many machines the sums are made for each caller. */
const FEW_MACHINES = 10_000;
/** For each machine: sums over a million take a few seconds, and are made every 100. */
const REST_MS = 0.1;

/** Callers have few scopes; one that is forgotten is only read again. */
const MOST_SCOPES = 100;

/**
 * Which pools there are is read for each caller. What is in them is summed over their machines, so in a large fleet it rests
 * between two reads: see RestingRead.
 */
export class PoolReader {
  readonly #options: PoolReaderOptions;
  readonly #figures = new Map<string, RestingRead<ReadonlyMap<string, PoolFigures>>>();

  constructor(options: PoolReaderOptions) {
    this.#options = options;
  }

  /** Pools are those that the caller sees, with its own machines alone. */
  async list(scope: Scope | null): Promise<PoolHealth[]> {
    const pools = await listPools(this.#options.session, scope);
    if (pools.length === 0) return [];
    const figures = await this.#figuresIn(scope).get();
    return pools.map((pool) => ({ ...(figures.get(pool.name) ?? NO_FIGURES), ...pool }));
  }

  /** Null: there is no such pool. */
  async find(name: string, scope: Scope | null): Promise<PoolHealth | null> {
    return (await this.list(scope)).find((pool) => pool.name === name) ?? null;
  }

  #figuresIn(scope: Scope | null): RestingRead<ReadonlyMap<string, PoolFigures>> {
    const key = scope?.text ?? '';
    const known = this.#figures.get(key);
    if (known !== undefined) return known;
    const { session, keepalives, monotonicNow } = this.#options;
    const read = async () => {
      const names = (await listPools(session, scope)).map(({ name }) => name);
      return readPoolFigures(session, { keepalives, scope }, names);
    };
    const made = new RestingRead({ read, restMs, monotonicNow });
    const [oldest] = this.#figures.keys();
    if (this.#figures.size >= MOST_SCOPES && oldest !== undefined) this.#figures.delete(oldest);
    this.#figures.set(key, made);
    return made;
  }
}

function restMs(figures: ReadonlyMap<string, PoolFigures>): number {
  let machines = 0;
  for (const { total } of figures.values()) machines += total;
  return machines < FEW_MACHINES ? 0 : machines * REST_MS;
}
