/**
 * How many passes over steps a replica makes at the same time: what calls a machine, or starts a program for it, does so in a pass. A job in hand
 * that has no slot waits for one in memory, with its lease.
 *
 * Where passes are brief, most of the time of a job goes to writes, which share transactions. Then a replica may have more jobs in hand than
 * slots: a new job is claimed by the transaction that creates it, not by another one after it. Where passes are long, it has no more than slots, so that
 * other replicas take what it could only keep waiting (docs/decisions/0102-more-in-hand-while-brief.md).
 */

/** In the mean of the last passes. */
const BRIEF_MS = 500;
const TIMES_AS_MANY = 4;
/** Of one pass in the mean: it follows a change within as many passes. */
const WEIGHT = 1 / 64;

export class PassSlots {
  readonly #width: number;
  readonly #reserve: number;
  readonly #monotonicNow: () => number;
  readonly #waiting = new Set<(isSlot: boolean) => void>();
  #taken = 0;
  /** Of a replica that has just started, nothing is known. */
  #meanMs = 2 * BRIEF_MS;

  /** `reserve`: more slots, for jobs that a full replica takes in addition. */
  constructor(width: number, reserve: number, monotonicNow: () => number) {
    this.#width = width;
    this.#reserve = reserve;
    this.#monotonicNow = monotonicNow;
  }

  /** How many jobs the replica may have in hand. */
  get mostInHand(): number {
    return this.#meanMs < BRIEF_MS ? this.#width * TIMES_AS_MANY : this.#width;
  }

  /** Without a slot where `stop` is aborted: a pass that is stopped does nothing but say so. */
  async run<T>(stop: AbortSignal, pass: () => Promise<T>): Promise<T> {
    const hasSlot = this.#tookSlot() || (await this.#givenSlot(stop));
    const startedAt = this.#monotonicNow();
    try {
      return await pass();
    } finally {
      this.#meanMs += (this.#monotonicNow() - startedAt - this.#meanMs) * WEIGHT;
      if (hasSlot) this.#leave();
    }
  }

  #tookSlot(): boolean {
    if (this.#taken >= this.#width + this.#reserve) return false;
    this.#taken += 1;
    return true;
  }

  #givenSlot(stop: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const give = (isSlot: boolean) => {
        this.#waiting.delete(give);
        stop.removeEventListener('abort', giveUp);
        resolve(isSlot);
      };
      const giveUp = () => give(false);
      if (stop.aborted) return resolve(false);
      this.#waiting.add(give);
      stop.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** The slot goes straight to the next that waits, so that no other pass takes it. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next) next(true);
    else this.#taken -= 1;
  }
}
