/**
 * The right to run one job. The database decides who holds it (epoch); this object decides, on the holder's own monotonic
 * clock, whether the holder may still rely on that. The deadline counts from before the claim was sent, so it is never later
 * than the database's. An epoch protects rows, but a device knows no epochs: that is why `mayAct` is checked right before every
 * external effect, and is false a little before the deadline.
 */
export class LeaseLost extends Error {
  constructor(jobId: string) {
    super(`the lease on ${jobId} is no longer held`);
    this.name = 'LeaseLost';
  }
}

/** The last part of a lease, which is reserved for an effect that has just passed the check. */
const SAFETY_SHARE = 0.2;

export class Lease {
  readonly jobId: string;
  readonly epoch: number;
  readonly #monotonicNow: () => number;
  #deadline: number;
  #safetyMs: number;
  #lost = false;

  constructor(jobId: string, epoch: number, askedAt: number, leaseMs: number, monotonicNow: () => number) {
    this.jobId = jobId;
    this.epoch = epoch;
    this.#monotonicNow = monotonicNow;
    this.#deadline = askedAt + leaseMs;
    this.#safetyMs = leaseMs * SAFETY_SHARE;
  }

  renewed(askedAt: number, leaseMs: number): void {
    this.#deadline = askedAt + leaseMs;
    this.#safetyMs = leaseMs * SAFETY_SHARE;
  }

  lose(): void {
    this.#lost = true;
  }

  mayAct(): boolean {
    return !this.#lost && this.#monotonicNow() < this.#deadline - this.#safetyMs;
  }

  /** Throws when the holder can't rely on its lease any more. */
  check(): void {
    if (!this.mayAct()) throw new LeaseLost(this.jobId);
  }
}
