/**
 * What a benchmark leaves behind is removed on every path: at its end, when it fails, and at Ctrl-C. The last thing that was
 * made goes first. A second signal does not wait.
 */
export class Cleanup {
  readonly #tasks: Array<() => Promise<void> | void> = [];
  #running: Promise<void> | null = null;

  /** Registered before the thing is made, so that no moment is without it. */
  add(task: () => Promise<void> | void): void {
    this.#tasks.push(task);
  }

  /** Every task runs, also after one that failed; the first error is thrown at the end. */
  run(): Promise<void> {
    this.#running ??= this.#runAll();
    return this.#running;
  }

  async #runAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let task = this.#tasks.pop(); task !== undefined; task = this.#tasks.pop()) {
      try {
        await task();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export async function runWithCleanup(work: (cleanup: Cleanup) => Promise<void>): Promise<void> {
  const cleanup = new Cleanup();
  let isStopping = false;
  const stop = (signal: keyof typeof EXIT_CODES) => {
    if (isStopping) process.exit(EXIT_CODES[signal]);
    isStopping = true;
    console.error('stopping; a second Ctrl-C leaves processes and files behind');
    cleanup
      .run()
      .catch((error: unknown) => console.error(error))
      .finally(() => process.exit(EXIT_CODES[signal]));
  };
  const signals = Object.keys(EXIT_CODES) as Array<keyof typeof EXIT_CODES>;
  for (const signal of signals) process.on(signal, stop);
  try {
    await work(cleanup);
  } catch (error) {
    // What fails because everything is being stopped is no news.
    if (isStopping) await new Promise(() => {});
    throw error;
  } finally {
    await cleanup.run();
    for (const signal of signals) process.off(signal, stop);
  }
}
