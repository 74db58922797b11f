import { unlessAborted } from './unless-aborted.ts';

/** A mutex for each key. Callers get it in the order in which they asked. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** A caller has the mutex or waits for it. */
  isLocked(key: string): boolean {
    return this.#last.has(key);
  }

  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    let unlock: () => void = () => {};
    const unlocked = new Promise<void>((resolve) => {
      unlock = resolve;
    });
    // A caller that is aborted while it waits still unlocks only after the callers before it.
    const over = (before ?? Promise.resolve()).then(() => unlocked);
    this.#last.set(key, over);
    over.then(() => {
      if (this.#last.get(key) === over) this.#last.delete(key);
    });
    try {
      if (before) await unlessAborted(before, signal);
      signal.throwIfAborted();
      return await work();
    } finally {
      unlock();
    }
  }
}
