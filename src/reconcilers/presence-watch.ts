/**
 * Finds agents that have fallen silent. Each agent has one time at which somebody must look; keepalives move it on,
 * so as long as all of them speak nothing is ever due, and looking costs one probe of an index. What is due is asked
 * for its life once more before it is declared lost.
 *
 * While nobody listened, nobody could be heard: after a pause of the whole service every agent has a whole time to
 * live to speak again before anybody is declared lost. Any replica that listens counts.
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
import { type Database, untilNotDeadlocked } from '../store/database/database.ts';
import type { DatabaseTime } from '../store/database/database-clock.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

export interface PresenceWatchOptions {
  readonly database: Database;
  readonly clock: DatabaseTime;
  readonly keepalives: KeepaliveStore;
  /** Keepalives are not in PostgreSQL. */
  readonly elsewhere: boolean;
  readonly ttls: PresenceTtls;
  readonly onExpired: (machines: readonly Machine[]) => void;
  readonly onPoolHealth: (pool: string, healthy: boolean) => void;
  readonly onLenient: (forMs: number) => void;
  readonly monotonicNow: () => number;
  readonly watch: LoopWatch;
}

const TICK_MS = 250;
/** That nobody said for so long that agents are listened to means that nobody was there. */
const GAP_MS = 5_000;
const ALWAYS = -1;
/** Machines also leave scheduling without a word of their agents: for maintenance, by a drain, by an operation. */
const POOLS_EVERY_MS = 5_000;
const BATCH = 1_000;

export class PresenceWatch {
  readonly #options: PresenceWatchOptions;
  readonly #loop: BackgroundLoop;
  /** Pools whose health may have changed, and what it was. */
  readonly #touched = new Set<string>();
  readonly #healthy = new Map<string, boolean>();
  #lenientBefore = 0;
  #incarnation: string | null = null;
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
    // Where keepalives can't be stored nobody is heard, so it does not count as watching either.
    const incarnation = await keepalives.incarnation();
    const isAnother = this.#incarnation !== null && this.#incarnation !== incarnation;
    const lenientMs = await watchAgents(database, isAnother ? ALWAYS : GAP_MS, ttls.keepaliveSeconds);
    this.#incarnation = incarnation;
    if (lenientMs > this.#lenientBefore) onLenient(lenientMs);
    this.#lenientBefore = lenientMs;
    await removeRevokedEntries(database, keepalives);
    if (lenientMs === 0) await this.#expireSilent(stopping);
    await this.#tellHealth();
  }

  async #expireSilent(stopping: AbortSignal): Promise<void> {
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
        await this.#putBack(alive);
      }
      const expired = await this.#expire(due.filter((_agent, index) => (lifetimes[index] ?? 0) <= 0));
      // Whoever is left is being written by somebody else at this moment; the next tick finds out by whom.
      if (due.length < BATCH || alive.length + expired === 0) return;
    }
  }

  /**
   * Where status and keepalives are two writes, a first keepalive and a new registration at the same moment can leave
   * an agent registered here and ready there, and nobody would notice. One that is only registered is not kept alive,
   * so its life is over when its check is due; one with a long life ahead is such an agent. As registered in both it
   * becomes ready with its next keepalive.
   */
  async #putBack(alive: ReadonlyArray<{ agent: AgentToCheck; leftMs: number }>): Promise<void> {
    const { database, keepalives, ttls } = this.#options;
    const astray = alive.filter(
      ({ agent, leftMs }) => agent.status === 'registered' && leftMs > ttls.keepaliveSeconds * 500,
    );
    if (astray.length === 0) return;
    await keepalives.put(
      astray.map(({ agent }) => ({ ...agent, status: 'registered', facts: null, keepalive: null })),
    );
    await removeForgotten(
      database,
      keepalives,
      astray.map(({ agent }) => agent),
    );
  }

  async #expire(silent: readonly AgentToCheck[]): Promise<number> {
    const { database, keepalives, clock, elsewhere, onExpired } = this.#options;
    if (silent.length === 0) return 0;
    const ids = silent.map(({ machineId }) => machineId);
    const expired = await untilNotDeadlocked(() => expireAgents(database, ids, elsewhere, clock.latest()));
    const gone = new Set(expired.map(({ machineId }) => machineId));
    await keepalives.remove(silent.filter(({ machineId }) => gone.has(machineId)));
    for (const { pool } of expired) if (pool !== null) this.#touched.add(pool);
    if (expired.length > 0) onExpired(expired);
    return expired.length;
  }

  async #tellHealth(): Promise<void> {
    const { database, monotonicNow } = this.#options;
    if (monotonicNow() - this.#poolsCheckedAt >= POOLS_EVERY_MS) {
      this.#poolsCheckedAt = monotonicNow();
      for (const pool of this.#healthy.keys()) this.#touched.add(pool);
    }
    if (this.#touched.size === 0) return;
    const pools = [...this.#touched];
    this.#touched.clear();
    const offering = await poolsWithSchedulable(database, pools);
    for (const pool of pools) {
      const healthy = offering.has(pool);
      if (this.#healthy.get(pool) === healthy) continue;
      this.#healthy.set(pool, healthy);
      this.#options.onPoolHealth(pool, healthy);
    }
  }
}
