/**
 * Keeps a replica from claiming jobs that it could not record. When the store fails, claiming pauses, twice as long each time.
 * After a pause one job is claimed; only when its result is recorded are all due jobs claimed again. A claim that succeeds
 * proves nothing: a disk that is too full for a result still has room for a lease.
 */
import { type BackoffPolicy, backoffMs } from '../time/backoff.ts';
import type { DeathCount, JobStore } from './job-store.ts';

const PAUSE: BackoffPolicy = { firstMs: 250, maxMs: 5_000 };

export interface ClaimBrakeOptions {
  readonly monotonicNow: () => number;
  readonly random: () => number;
  /** A result was recorded: all due jobs may be claimed again. */
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

  /** How long no job may be claimed. */
  get pauseMs(): number {
    return Math.max(0, this.#until - this.#options.monotonicNow());
  }

  /** How many jobs may be claimed where there is room for so many. */
  limit(room: number): number {
    return this.isOn ? Math.min(room, 1) : room;
  }

  /** While the store fails this replica, it may fail others too, which are alive and can't renew. */
  get deaths(): DeathCount {
    return this.isOn ? 'not_counted' : 'counted';
  }

  failed(): void {
    // A call that fails during a pause was started before it, and is no news.
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

/** The same store; a recorded result releases the brake. */
export function brakedStore<Change>(store: JobStore<Change>, brake: ClaimBrake): JobStore<Change> {
  return {
    claim: (claim) => store.claim(claim),
    claimOverdue: (claim) => store.claimOverdue(claim),
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
