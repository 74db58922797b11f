import { backoffPause } from '../../client/resumable-stream.ts';
import { isConnectionLost } from './call-error.ts';

const pauseBeforeRetry = backoffPause({ firstMs: 250, maxMs: 5_000 });

export interface ReconnectSettings {
  /** A cheap call that shows whether the server responds again. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
  readonly notify: (message: string) => void;
  readonly address: string;
}

/**
 * Waits until a lost server responds again. The streams of one command share one: the first that notices starts the
 * wait, the others join it, and the user is notified once.
 */
export class Reconnect {
  readonly #settings: ReconnectSettings;
  #waiting: Promise<void> | undefined;

  constructor(settings: ReconnectSettings) {
    this.#settings = settings;
  }

  wait(signal: AbortSignal): Promise<void> {
    this.#waiting ??= this.#probeUntilAnswered(signal).finally(() => {
      this.#waiting = undefined;
    });
    return this.#waiting;
  }

  /** Repeats a call until the server responds. For calls without an effect. */
  async persist<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (signal.aborted || !isConnectionLost(error)) throw error;
        await this.wait(signal);
      }
    }
  }

  async #probeUntilAnswered(signal: AbortSignal): Promise<void> {
    const { probe, notify, address } = this.#settings;
    notify(`connection to ${address} lost; trying again...`);
    for (let failures = 0; !signal.aborted; failures += 1) {
      await pauseBeforeRetry(failures, signal);
      try {
        await probe(signal);
        notify(`connected to ${address} again`);
        return;
      } catch (error) {
        if (!signal.aborted && !isConnectionLost(error)) throw error;
      }
    }
  }
}
