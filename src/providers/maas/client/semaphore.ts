/**
 * At most `width` requests at once; the others wait in a queue, for `maxWaitMs` at most. Each MAAS has semaphores of its
 * own, so that a slow one delays only its own machines. A request that gives up in time lets the engine do something else.
 */
import { StepFailure } from '../../../engine/step-handler.ts';
import { maasOutage } from './maas-failure.ts';

interface Waiting {
  readonly go: () => void;
  readonly giveUp: (error: unknown) => void;
}

export interface SemaphoreOptions {
  readonly maas: string;
  readonly width: number;
  readonly maxWaitMs: number;
}

export class Semaphore {
  readonly #options: SemaphoreOptions;
  readonly #waiting = new Set<Waiting>();
  #underWay = 0;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /** The next request would have to wait. */
  get isFull(): boolean {
    return this.#underWay >= this.#options.width;
  }

  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.isFull) await this.#wait(signal);
    else this.#underWay++;
    try {
      return await work();
    } finally {
      const [next] = this.#waiting;
      // The place goes straight to the next in the queue, so that no other request takes it.
      if (next) next.go();
      else this.#underWay--;
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    const { maas, maxWaitMs } = this.#options;
    return new Promise((resolve, reject) => {
      const over = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        this.#waiting.delete(waiting);
      };
      const waiting: Waiting = {
        go: () => {
          over();
          resolve();
        },
        giveUp: (error) => {
          over();
          reject(error);
        },
      };
      const stop = () => waiting.giveUp(signal.reason);
      const timer = setTimeout(() => waiting.giveUp(tooManyRequests(maas, maxWaitMs)), maxWaitMs);
      signal.addEventListener('abort', stop, { once: true });
      this.#waiting.add(waiting);
    });
  }
}

function tooManyRequests(maas: string, maxWaitMs: number): StepFailure {
  const message = `${maas} is busy: the request waited ${maxWaitMs / 1000} s for others`;
  return new StepFailure({ class: 'retryable', code: 'MAAS_BUSY', message }, maasOutage(maas, 'none'));
}
