/**
 * Wakes those who wait for something new. A waiter reads the count before it checks for news, and then waits for that count
 * to change: a notification that comes during the check is not missed, because the wait returns at once.
 */
export class Signal {
  #count = 0;
  readonly #waiting = new Set<() => void>();

  get count(): number {
    return this.#count;
  }

  notify(): void {
    this.#count += 1;
    for (const wake of [...this.#waiting]) wake();
  }

  /** For one who waits again and again: to listen for the abort at every wait costs more than the wait. */
  waiter(stop: AbortSignal): Waiter {
    return new Waiter(this, this.#waiting, stop);
  }

  /** Returns after a notification since `count`, at the abort, or after the time. */
  async wait(count: number, stop: AbortSignal, timeoutMs?: number): Promise<void> {
    if (this.#count !== count || stop.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        stop.removeEventListener('abort', wake);
        resolve();
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(wake, timeoutMs);
      this.#waiting.add(wake);
      stop.addEventListener('abort', wake, { once: true });
    });
  }
}

export class Waiter {
  readonly #signal: Signal;
  readonly #waiting: Set<() => void>;
  readonly #stop: AbortSignal;
  #resume: (() => void) | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(signal: Signal, waiting: Set<() => void>, stop: AbortSignal) {
    this.#signal = signal;
    this.#waiting = waiting;
    this.#stop = stop;
    stop.addEventListener('abort', this.#wake);
  }

  /** As the signal's. One wait at a time. */
  async wait(count: number, timeoutMs?: number): Promise<void> {
    if (this.#signal.count !== count || this.#stop.aborted) return;
    this.#waiting.add(this.#wake);
    if (timeoutMs !== undefined) this.#timer = setTimeout(this.#wake, timeoutMs);
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
    });
  }

  /** After the last wait. */
  close(): void {
    this.#stop.removeEventListener('abort', this.#wake);
  }

  readonly #wake = (): void => {
    clearTimeout(this.#timer);
    this.#waiting.delete(this.#wake);
    this.#resume?.();
    this.#resume = null;
  };
}
