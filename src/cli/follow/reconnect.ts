import { isConnectionLost } from '../connection/call-error.ts';
import { pause } from './pause.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

export interface ReconnectSettings {
  /** A cheap call that tells whether the server answers again. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
  readonly notify: (message: string) => void;
  readonly address: string;
}

/**
 * Waits for a server that went away. The streams of one command share one of these: the first that notices
 * starts the wait, the others join it, and the reader is told once.
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

  /** Makes a call that may be repeated, until it is answered. */
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
    notify(`connection to ${address} lost; trying again…`);
    for (let ms = FIRST_PAUSE_MS; !signal.aborted; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
      await pause(ms, signal);
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
