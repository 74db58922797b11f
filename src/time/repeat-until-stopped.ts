/**
 * The one loop of everything that a replica does by itself, again and again. All loops fail in the same way: the watch
 * receives the result of each pass, and a pass that fails is repeated after a pause that doubles up to a limit.
 */
import { FailurePause } from './failure-pause.ts';
import { Signal } from './signal.ts';
import { sleep } from './sleep.ts';

/** Receives the result of each pass of each loop. */
export interface LoopWatch {
  passed(loop: string): void;
  failed(loop: string, error: unknown): void;
}

/**
 * 'idle': there was nothing to do, which says nothing about the loop's health. A time: the next pass comes after it instead
 * of the interval.
 */
export type PassResult = 'passed' | 'idle' | { readonly nextInMs: number };

export interface LoopOptions {
  /** What it does, as in "watching agents": for the log and for /readyz. */
  readonly name: string;
  /** From the end of one pass to the start of the next. */
  readonly everyMs: number;
  readonly pass: ((stop: AbortSignal) => Promise<void>) | ((stop: AbortSignal) => Promise<PassResult>);
  readonly watch: LoopWatch;
  /** Ends the wait for the next pass early, but not the pause after a failure. */
  readonly wake?: Signal;
  /**
   * When a failed pass is repeated. 'soon' (unless given): after a pause of 125 ms to 5 s. 'within_interval': the same, but never
   * later than the next pass was due. 'at_interval': for another system, which is not called more often because it fails.
   */
  readonly retry?: 'soon' | 'within_interval' | 'at_interval';
  readonly random?: () => number;
}

/** Returns when the loop was stopped and its last pass is over. */
export async function repeatUntilStopped(options: LoopOptions, stop: AbortSignal): Promise<void> {
  const { name, watch, pass, everyMs, wake = new Signal() } = options;
  const pause = new FailurePause(options.random);
  while (!stop.aborted) {
    const { count } = wake;
    try {
      const result = await pass(stop);
      if (result !== 'idle') {
        pause.passed();
        watch.passed(name);
      }
      await wake.wait(count, stop, typeof result === 'object' ? result.nextInMs : everyMs);
    } catch (error) {
      if (stop.aborted) return;
      watch.failed(name, error);
      await sleep(retryMs(options, pause.failed()), stop);
    }
  }
}

function retryMs({ retry = 'soon', everyMs }: LoopOptions, pauseMs: number): number {
  switch (retry) {
    case 'soon':
      return pauseMs;
    case 'within_interval':
      return Math.min(pauseMs, everyMs);
    case 'at_interval':
      return everyMs;
  }
}

/** A loop that is started and stopped. */
export class BackgroundLoop {
  readonly #options: LoopOptions;
  readonly #stopping = new AbortController();
  #over: Promise<void> = Promise.resolve();

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  start(): void {
    this.#over = repeatUntilStopped(this.#options, this.#stopping.signal);
  }

  /** Returns when the running pass is over. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#over;
  }
}
