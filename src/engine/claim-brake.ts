/**
 * Keeps a replica from claiming work that it could not record. When the store fails, claiming pauses, twice as long each
 * time; after a pause one job alone is claimed, and only when its result is recorded is everything claimed again. A claim
 * that succeeds proves nothing: a disk that is too full for a result still has room for a lease.
 */
import { type BackoffPolicy, backoffMs } from '../time/backoff.ts';
import type { DeathCount, JobStore } from './job-store.ts';

const PAUSE: BackoffPolicy = { firstMs: 250, maxMs: 5_000 };

export interface ClaimBrakeOptions {
  readonly monotonicNow: () => number;
  readonly random: () => number;
  /** A result was recorded: everything may be claimed again. */
  readonly onReleased: () => void;
}

export class ClaimBrake {
  readonly #options: ClaimBrakeOptions;
  #failures = 0;
  #until = Number.NEGATIVE_INFINITY;

  constructor(options: ClaimBrakeOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#failures > 0;
  }

  /** How long nothing may be claimed; 0 when something may. */
  get pauseMs(): number {
    return Math.max(0, this.#until - this.#options.monotonicNow());
  }

  /** Of the jobs that there is room for, how many may be claimed. */
  limit(room: number): number {
    return this.isOn ? Math.min(room, 1) : room;
  }

  /** While the store fails this replica, it may fail the others, which are alive and can't renew. */
  get deaths(): DeathCount {
    return this.isOn ? 'not_counted' : 'counted';
  }

  failed(): void {
    // What fails during a pause was started before it, and says nothing new.
    if (this.pauseMs > 0) return;
    this.#failures += 1;
    const { monotonicNow, random } = this.#options;
    this.#until = monotonicNow() + backoffMs(PAUSE, this.#failures, random());
  }

  recorded(): void {
    if (!this.isOn) return;
    this.#failures = 0;
    this.#until = Number.NEGATIVE_INFINITY;
    this.#options.onReleased();
  }
}

/** The same store; what it records releases the brake. */
export function brakedStore<Change>(store: JobStore<Change>, brake: ClaimBrake): JobStore<Change> {
  return {
    claim: (owner, limit, leaseMs, deaths) => store.claim(owner, limit, leaseMs, deaths),
    claimOverdue: (owner, limit, leaseMs, deaths) => store.claimOverdue(owner, limit, leaseMs, deaths),
    renew: (owner, leases, leaseMs) => store.renew(owner, leases, leaseMs),
    appendLog: (lines, tails) => store.appendLog(lines, tails),
    release: (owner, leases) => store.release(owner, leases),
    releaseAllBut: (owner, ids) => store.releaseAllBut(owner, ids),
    record: async (owner, move) => {
      const result = await store.record(owner, move);
      brake.recorded();
      return result;
    },
  };
}
