import { unlessAborted } from './unless-aborted.ts';

/** A mutex for each key. Callers get it in the order in which they asked. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();
  readonly #yielding = new Map<string, AbortController>();

  /** A caller has the mutex or waits for it. */
  isLocked(key: string): boolean {
    return this.#last.has(key);
  }

  /** The work stops when its signal says that another caller waits. Null: a caller has the mutex already. */
  async tryRun<T>(
    key: string,
    signal: AbortSignal,
    work: (wanted: AbortSignal) => Promise<T>,
  ): Promise<T | null> {
    if (this.isLocked(key)) return null;
    const wanted = new AbortController();
    const running = this.run(key, signal, () => work(wanted.signal));
    this.#yielding.set(key, wanted);
    try {
      return await running;
    } finally {
      if (this.#yielding.get(key) === wanted) this.#yielding.delete(key);
    }
  }

  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    this.#yielding.get(key)?.abort(new Wanted());
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

/** Why work ends that another caller waits for. */
export class Wanted extends Error {
  constructor() {
    super('another caller waits');
  }
}
