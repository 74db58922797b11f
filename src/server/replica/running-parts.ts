/** The parts of a replica that run, in the order in which they were started. They are stopped in the reverse order. */
export class RunningParts {
  readonly #stops: Array<() => Promise<void>> = [];

  start(part: { start(): void; stop(): Promise<void> }): void {
    part.start();
    this.stopWith(() => part.stop());
  }

  /** For a part that runs already. */
  stopWith(stop: () => Promise<void>): void {
    this.#stops.push(stop);
  }

  /** A part that fails to stop does not keep the others running. */
  async stopAll(onError: (error: unknown) => void): Promise<void> {
    for (const stop of this.#stops.splice(0).reverse()) await stop().catch(onError);
  }
}
