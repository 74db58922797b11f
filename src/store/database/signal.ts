/**
 * Tells waiting readers that there may be something new. A reader notes the count before it looks; what rings
 * while it is looking is not missed, because waiting for a count that has moved on returns at once.
 */
export class Signal {
  #count = 0;
  readonly #waiting = new Set<() => void>();

  get count(): number {
    return this.#count;
  }

  ring(): void {
    this.#count += 1;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Returns when it has rung since `count`, at the abort, or after the time. */
  async wait(count: number, signal: AbortSignal, timeoutMs?: number): Promise<void> {
    if (this.#count !== count || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = timeoutMs === undefined ? undefined : setTimeout(wake, timeoutMs).unref();
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
