import { unlessAborted } from './unless-aborted.ts';

/** One at a time for each key, in the order of asking. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** Somebody has the turn or waits for it. */
  isTaken(key: string): boolean {
    return this.#last.has(key);
  }

  async take<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    let pass: () => void = () => {};
    const mine = new Promise<void>((resolve) => {
      pass = resolve;
    });
    // Whoever gives up while waiting still hands the turn on only after it was theirs.
    const over = (before ?? Promise.resolve()).then(() => mine);
    this.#last.set(key, over);
    over.then(() => {
      if (this.#last.get(key) === over) this.#last.delete(key);
    });
    try {
      if (before) await unlessAborted(before, signal);
      signal.throwIfAborted();
      return await work();
    } finally {
      pass();
    }
  }
}
