import { type BackoffPolicy, backoffMs } from './backoff.ts';

/** The longest pause is short: a loop continues by itself within it once the cause is gone. */
const PAUSE: BackoffPolicy = { firstMs: 250, maxMs: 5_000 };

/** How long work that fails waits before it is tried again: twice as long after each failure in a row, up to a limit. */
export class FailurePause {
  readonly #random: () => number;
  #failures = 0;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  passed(): void {
    this.#failures = 0;
  }

  /** Returns the pause. */
  failed(): number {
    this.#failures += 1;
    return backoffMs(PAUSE, this.#failures, this.#random());
  }
}
