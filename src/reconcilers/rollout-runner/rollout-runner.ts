/**
 * Executes rollouts: those that this replica holds. A replica claims what no live replica executes, renews its leases, and
 * makes a pass over a rollout when something happened to one of its operations, when someone acted on it, or when its time
 * has come. Everything that a pass relies on is stored, so another replica goes on where this one ends.
 */
import { claimRollouts, releaseRollouts, renewRollouts } from '../../store/rollouts/rollout-lease.ts';
import { BackgroundLoop, type LoopWatch, type PassResult } from '../../time/repeat-until-stopped.ts';
import { Signal } from '../../time/signal.ts';
import { type RunnerDependencies, runPass, type SlowChecks } from './run-pass.ts';

export interface RolloutRunnerOptions extends RunnerDependencies {
  /** The name of this replica, unlike that of any other, also after a restart. */
  readonly owner: string;
  readonly watch: LoopWatch;
  readonly monotonicNow: () => number;
  /** Without a renewal for so long, another replica takes its rollouts over. */
  readonly leaseMs: number;
}

const CLAIM_EVERY_MS = 1_000;
const CLAIM_AT_ONCE = 50;
/** The least time between two passes over a rollout, and its least share of the time: events come much more often. */
const REST_MS = 25;
const REST_SHARE = 4;
const CHECK_EVERY_MS = 2_000;

interface Held {
  /** On the monotonic clock; null: when something happens. */
  dueAt: number | null;
  /** Not before. */
  restsUntil: number;
  /** When the slow checks are due: machines that come to match, what stop rules observe, failures that were resolved by hand. */
  checkAt: number;
  readonly checks: SlowChecks;
}

export class RolloutRunner {
  readonly #options: RolloutRunnerOptions;
  readonly #loop: BackgroundLoop;
  readonly #wake = new Signal();
  readonly #held = new Map<string, Held>();
  #claimAt = 0;
  #renewAt = 0;

  constructor(options: RolloutRunnerOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'executing rollouts',
      everyMs: CLAIM_EVERY_MS,
      pass: (stop) => this.#pass(stop),
      watch: options.watch,
      wake: this.#wake,
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await releaseRollouts(this.#options.database, this.#options.owner);
  }

  /** Someone created a rollout or acted on one. */
  rolloutsChanged(): void {
    this.#claimAt = 0;
    this.eventsCommitted();
  }

  /** Something happened that may be the end of an operation. */
  eventsCommitted(): void {
    const now = this.#options.monotonicNow();
    for (const held of this.#held.values()) held.dueAt = Math.min(held.dueAt ?? now, now);
    if (this.#held.size > 0 || this.#claimAt === 0) this.#wake.notify();
  }

  async #pass(stop: AbortSignal): Promise<PassResult> {
    const { monotonicNow } = this.#options;
    await this.#keepLeases();
    const now = monotonicNow();
    const due = [...this.#held].filter(
      ([, held]) => Math.max(Math.min(held.dueAt ?? held.checkAt, held.checkAt), held.restsUntil) <= now,
    );
    const results = stop.aborted
      ? []
      : await Promise.allSettled(due.map(([rolloutId, held]) => this.#passOver(rolloutId, held)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return { nextInMs: this.#nextInMs() };
  }

  async #passOver(rolloutId: string, held: Held): Promise<void> {
    const { owner, monotonicNow } = this.#options;
    const startedAt = monotonicNow();
    held.dueAt = null;
    const slowChecks = startedAt >= held.checkAt ? held.checks : null;
    try {
      const outcome = await runPass(this.#options, { rolloutId, owner, slowChecks });
      if (slowChecks !== null) held.checkAt = monotonicNow() + CHECK_EVERY_MS;
      if (outcome === 'gone') this.#held.delete(rolloutId);
      else if (outcome.nextInMs !== null) {
        const dueAt = monotonicNow() + outcome.nextInMs;
        held.dueAt = Math.min(held.dueAt ?? dueAt, dueAt);
      }
    } catch (error) {
      // What was to be done still is.
      held.dueAt = startedAt;
      throw error;
    } finally {
      const now = monotonicNow();
      held.restsUntil = now + Math.max(REST_MS, (now - startedAt) / REST_SHARE);
    }
  }

  async #keepLeases(): Promise<void> {
    const { database, owner, leaseMs, monotonicNow } = this.#options;
    const now = monotonicNow();
    if (this.#held.size > 0 && now >= this.#renewAt) {
      const kept = new Set(await renewRollouts(database, { owner, leaseMs }));
      for (const id of this.#held.keys()) if (!kept.has(id)) this.#held.delete(id);
      this.#renewAt = now + leaseMs / 3;
    }
    if (now < this.#claimAt) return;
    const claimed = await claimRollouts(database, { owner, leaseMs, limit: CLAIM_AT_ONCE });
    for (const id of claimed)
      this.#held.set(id, { dueAt: now, restsUntil: now, checkAt: 0, checks: { followAfter: '' } });
    this.#claimAt = monotonicNow() + CLAIM_EVERY_MS;
  }

  #nextInMs(): number {
    const now = this.#options.monotonicNow();
    const due = [...this.#held.values()].map(({ dueAt, restsUntil, checkAt }) =>
      Math.max(Math.min(dueAt ?? checkAt, checkAt), restsUntil),
    );
    return Math.max(0, Math.min(this.#claimAt, ...due) - now);
  }
}
