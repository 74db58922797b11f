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
