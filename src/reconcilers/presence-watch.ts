/**
 * Finds agents that are lost. Each agent has one time at which it must be checked; keepalives move that time on, so while all
 * agents send them nothing is ever due, and a check costs one index lookup. An agent that is due is looked up once more in the
 * store of keepalives before it is declared lost.
 *
 * While no replica ran, no keepalive could be received: after such a gap every agent has a whole time to live to send
 * one before any is declared lost. One running replica is enough.
 */
import type { PresenceTtls } from '../domain/agent/agent.ts';
import type { Machine } from '../domain/machine/machine.ts';
import {
  type AgentToCheck,
  agentsToCheck,
  checkAgentsLater,
  expireAgents,
  watchAgents,
} from '../store/agents/agent-watch.ts';
import { removeForgotten, removeRevokedEntries } from '../store/agents/forget-agent.ts';
import type { KeepaliveStore } from '../store/agents/keepalive-store.ts';
import { poolsWithSchedulable } from '../store/agents/pool-health.ts';
import type { DatabaseTime } from '../store/clock/database-clock.ts';
import { type Database, untilNotDeadlocked } from '../store/database/database.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

export interface PresenceWatchOptions {
  readonly database: Database;
  readonly clock: DatabaseTime;
  readonly keepalives: KeepaliveStore;
  /** Keepalives are stored outside PostgreSQL. */
  readonly elsewhere: boolean;
  readonly ttls: PresenceTtls;
  readonly onExpired: (machines: readonly Machine[]) => void;
  readonly onPoolHealth: (pool: string, healthy: boolean) => void;
  readonly onLenient: (forMs: number) => void;
  readonly monotonicNow: () => number;
  readonly watch: LoopWatch;
}

const TICK_MS = 250;
/** No replica recorded for this long that it receives keepalives: none was running. */
const GAP_MS = 5_000;
const ALWAYS = -1;
const NEVER_READ = Symbol('never read');
const UNKNOWN = Symbol('unknown');
/** Machines also stop being schedulable without their agents: for maintenance, by a drain, by an operation. */
const POOLS_EVERY_MS = 5_000;
const BATCH = 1_000;

export class PresenceWatch {
  readonly #options: PresenceWatchOptions;
  readonly #loop: BackgroundLoop;
  /** Pools whose health may have changed, and what it was. */
  readonly #touched = new Set<string>();
  readonly #healthy = new Map<string, boolean>();
  #lenientBefore = 0;
  #incarnation: string | typeof NEVER_READ | typeof UNKNOWN = NEVER_READ;
  #poolsCheckedAt = 0;

  constructor(options: PresenceWatchOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'watching agents',
      everyMs: TICK_MS,
      pass: (stopping) => this.#tick(stopping),
      watch: options.watch,
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** An agent of the pool became ready. */
  poolTouched(pool: string): void {
    this.#touched.add(pool);
  }

  async #tick(stopping: AbortSignal): Promise<void> {
    const { database, keepalives, ttls, onLenient } = this.#options;
    // While keepalives can't be stored, this replica does not count as receiving them.
    const incarnation = await this.#currentIncarnation();
    const isAnother = this.#incarnation !== incarnation && this.#incarnation !== NEVER_READ;
    const lenientMs = await watchAgents(database, isAnother ? ALWAYS : GAP_MS, ttls.keepaliveSeconds);
    this.#incarnation = incarnation;
    if (lenientMs > this.#lenientBefore) onLenient(lenientMs);
    this.#lenientBefore = lenientMs;
    await removeRevokedEntries(database, keepalives);
    if (lenientMs === 0) await this.#expireLost(stopping);
    await this.#reportPoolHealth();
  }

  /** A store that was away before it was ever reached may have lost what it held, as one that has another incarnation. */
  async #currentIncarnation(): Promise<string> {
    try {
      return await this.#options.keepalives.incarnation();
    } catch (error) {
      if (this.#incarnation === NEVER_READ) this.#incarnation = UNKNOWN;
      throw error;
    }
  }

  async #expireLost(stopping: AbortSignal): Promise<void> {
    const { database, keepalives, clock } = this.#options;
    for (;;) {
      const due = await agentsToCheck(database, BATCH, clock.latest());
      if (due.length === 0 || stopping.aborted) return;
      const lifetimes = await keepalives.lifetimes(due);
      const alive = due.flatMap((agent, index) => {
        const leftMs = lifetimes[index] ?? 0;
        return leftMs > 0 ? [{ agent, leftMs }] : [];
      });
      if (alive.length > 0) {
        await checkAgentsLater(
          database,
          alive.map(({ agent }) => agent.machineId),
          alive.map(({ leftMs }) => leftMs),
        );
        await this.#repairStatus(alive);
      }
      const expired = await this.#expire(due.filter((_agent, index) => (lifetimes[index] ?? 0) <= 0));
      // Another transaction is writing those that are left; the next tick checks them again.
      if (due.length < BATCH || alive.length + expired === 0) return;
    }
  }

  /**
   * Where status and keepalives are two writes, a first keepalive and a new registration at the same time can leave an
   * agent registered here and ready there, and nothing else would notice. An agent that is only registered is not kept
   * alive, so its time to live is over when its check is due; one with much of it left is such an agent. Once it is
   * registered in both, its next keepalive makes it ready.
   */
  async #repairStatus(alive: ReadonlyArray<{ agent: AgentToCheck; leftMs: number }>): Promise<void> {
    const { database, keepalives, ttls } = this.#options;
    const inconsistent = alive.filter(
      ({ agent, leftMs }) => agent.status === 'registered' && leftMs > ttls.keepaliveSeconds * 500,
    );
    if (inconsistent.length === 0) return;
    await keepalives.put(
      inconsistent.map(({ agent }) => ({ ...agent, status: 'registered', facts: null, keepalive: null })),
    );
    await removeForgotten(
      database,
      keepalives,
      inconsistent.map(({ agent }) => agent),
    );
  }

  async #expire(lost: readonly AgentToCheck[]): Promise<number> {
    const { database, keepalives, clock, elsewhere, onExpired } = this.#options;
    if (lost.length === 0) return 0;
    const ids = lost.map(({ machineId }) => machineId);
    const expired = await untilNotDeadlocked(() => expireAgents(database, ids, elsewhere, clock.latest()));
    const gone = new Set(expired.map(({ machineId }) => machineId));
    await keepalives.remove(lost.filter(({ machineId }) => gone.has(machineId)));
    for (const { pool } of expired) if (pool !== null) this.#touched.add(pool);
    if (expired.length > 0) onExpired(expired);
    return expired.length;
  }

  async #reportPoolHealth(): Promise<void> {
    const { database, monotonicNow } = this.#options;
    if (monotonicNow() - this.#poolsCheckedAt >= POOLS_EVERY_MS) {
      this.#poolsCheckedAt = monotonicNow();
      for (const pool of this.#healthy.keys()) this.#touched.add(pool);
    }
    if (this.#touched.size === 0) return;
    const pools = [...this.#touched];
    this.#touched.clear();
    const schedulable = await poolsWithSchedulable(database, pools);
    for (const pool of pools) {
      const healthy = schedulable.has(pool);
      if (this.#healthy.get(pool) === healthy) continue;
      this.#healthy.set(pool, healthy);
      this.#options.onPoolHealth(pool, healthy);
    }
  }
}
