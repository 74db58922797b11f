/** The parts of a replica that run, in the order in which they were started. They are stopped in the reverse order. */
export class RunningParts {
  readonly #parts: Array<{ readonly name: string; stop(): Promise<void> }> = [];

  /** A loop has a name that says what it does; other parts go by their class. */
  start(part: { readonly name?: string; start(): void; stop(): Promise<void> }): void {
    part.start();
    this.stopWith(part.name ?? part.constructor.name, () => part.stop());
  }

  /** For a part that runs already. */
  stopWith(name: string, stop: () => Promise<void>): void {
    this.#parts.push({ name, stop });
  }

  /** A part that fails to stop does not keep the others running. */
  async stopAll(listener: StopListener): Promise<void> {
    for (const { name, stop } of this.#parts.splice(0).reverse()) {
      const slow = setInterval(() => listener.onSlow(name), listener.slowMs);
      await stop().catch((error: unknown) => listener.onError(name, error));
      clearInterval(slow);
    }
  }
}

export interface StopListener {
  /** A part that takes longer is named, and again after each such time. */
  readonly slowMs: number;
  onSlow(part: string): void;
  onError(part: string, error: unknown): void;
}
