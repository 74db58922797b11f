/**
 * Work that a replica does by itself, again and again. Every such loop runs through here, so that all of them fail in the
 * same way: the watch is told of each pass, and what fails is tried again after a pause that doubles up to a limit.
 */
import { type BackoffPolicy, backoffMs } from '../domain/backoff.ts';

/** Who is told how loops fare. */
export interface LoopWatch {
  passed(loop: string): void;
  failed(loop: string, error: unknown): void;
}

/** The longest pause is short: when the cause has ended, work goes on by itself within it. */
const PAUSE: BackoffPolicy = { firstMs: 250, maxMs: 5_000 };

/** What a loop that fails waits before its next pass. */
export class FailurePause {
  readonly #random: () => number;
  #failures = 0;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  passed(): void {
    this.#failures = 0;
  }

  failed(): number {
    this.#failures += 1;
    return backoffMs(PAUSE, this.#failures, this.#random());
  }
}

export interface BackgroundLoopOptions {
  /** What it does, as in "watching agents": for the log and for /readyz. */
  readonly name: string;
  readonly everyMs: number;
  /** 'idle': there was nothing to do, which says nothing about how the loop fares. */
  readonly pass: (stopping: AbortSignal) => Promise<unknown>;
  readonly watch: LoopWatch;
  /** Another system that fails is not asked more often for it; without this a failed pass is repeated soon. */
  readonly retry?: 'at_interval';
}

export class BackgroundLoop {
  readonly #options: BackgroundLoopOptions;
  readonly #stopping = new AbortController();
  #over: Promise<void> = Promise.resolve();

  constructor(options: BackgroundLoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#over = this.#runUntilStopped();
  }

  /** Returns when the pass that is under way is over. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#over;
  }

  async #runUntilStopped(): Promise<void> {
    const { name, pass, everyMs, watch, retry } = this.#options;
    const { signal } = this.#stopping;
    const pause = new FailurePause();
    while (!signal.aborted) {
      let sleepMs = everyMs;
      try {
        const outcome = await pass(signal);
        if (outcome !== 'idle') {
          pause.passed();
          watch.passed(name);
        }
      } catch (error) {
        if (signal.aborted) return;
        watch.failed(name, error);
        const pauseMs = pause.failed();
        if (retry !== 'at_interval') sleepMs = pauseMs;
      }
      await sleepUntilAborted(sleepMs, signal);
    }
  }
}

export function sleepUntilAborted(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
