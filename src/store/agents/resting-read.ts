/**
 * A read that costs more the larger the fleet is. While its result is small, each caller has its own read, and sees what it just
 * changed. A large one rests: its result serves everyone for a time that grows with its size, so that it takes a small part of the
 * database however often it is asked for. When the rest is over, the next caller still gets that result while it is read again; only
 * when it was asked for by no one for long does a caller wait.
 */
export interface RestingReadOptions<Value> {
  readonly read: () => Promise<Value>;
  /** How long a result serves everyone; 0: only the caller that it was read for. */
  readonly restMs: (value: Value) => number;
  readonly monotonicNow: () => number;
}

interface Result<Value> {
  readonly value: Value;
  readonly at: number;
  readonly restMs: number;
}

export class RestingRead<Value> {
  readonly #options: RestingReadOptions<Value>;
  #last: Result<Value> | null = null;
  #running: Promise<Value> | null = null;

  constructor(options: RestingReadOptions<Value>) {
    this.#options = options;
  }

  async get(): Promise<Value> {
    const last = this.#last;
    if (last === null || last.restMs === 0) return this.#read();
    const age = this.#options.monotonicNow() - last.at;
    if (age < last.restMs) return last.value;
    const again = this.#shared();
    if (age >= 2 * last.restMs) return again;
    // Its failure is that of the caller who has to wait for the next one.
    again.catch(() => {});
    return last.value;
  }

  /** One at a time: all who wait for a large read wait for the same one. */
  #shared(): Promise<Value> {
    this.#running ??= this.#read().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #read(): Promise<Value> {
    const { read, restMs, monotonicNow } = this.#options;
    const value = await read();
    this.#last = { value, at: monotonicNow(), restMs: restMs(value) };
    return value;
  }
}
