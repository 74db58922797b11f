/**
 * Rates by key, such as calls of an identity: each key has a bucket that holds a burst and refills steadily. The time is
 * passed in. What is kept is bounded: a bucket that is full again says nothing and goes first, then the one that was not
 * used for longest.
 */

export interface Rate {
  /** Zero: no limit. */
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  left: number;
  at: number;
}

const MOST_KEYS = 100_000;
const EVICTED_AT_ONCE = 1_000;

export class KeyedRate {
  readonly #rate: Rate;
  readonly #now: () => number;
  readonly #mostKeys: number;
  /** In the order of their last use. */
  readonly #buckets = new Map<string, Bucket>();

  /** `now` is in milliseconds. */
  constructor(rate: Rate, now: () => number, mostKeys = MOST_KEYS) {
    this.#rate = rate;
    this.#now = now;
    this.#mostKeys = mostKeys;
  }

  /** Takes one. Null: there was room; a number: refused, and after this many seconds there is room again. */
  take(key: string): number | null {
    const { perSecond, burst } = this.#rate;
    if (perSecond === 0) return null;
    const now = this.#now();
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      if (this.#buckets.size >= this.#mostKeys) this.#evict(now);
      this.#buckets.set(key, { left: burst - 1, at: now });
      return null;
    }
    const left = this.#left(bucket, now);
    bucket.at = now;
    bucket.left = left < 1 ? left : left - 1;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    return left < 1 ? (1 - left) / perSecond : null;
  }

  #left({ left, at }: Bucket, now: number): number {
    const { perSecond, burst } = this.#rate;
    return Math.min(burst, left + ((now - at) / 1000) * perSecond);
  }

  #evict(now: number): void {
    let evicted = 0;
    for (const [key, bucket] of this.#buckets) {
      if (this.#left(bucket, now) < this.#rate.burst && this.#buckets.size < this.#mostKeys) break;
      this.#buckets.delete(key);
      evicted += 1;
      if (evicted >= EVICTED_AT_ONCE) break;
    }
  }
}
