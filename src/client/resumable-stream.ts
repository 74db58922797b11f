/**
 * A server stream that outlives its connections, for the CLI and the console.
 *
 * Each item carries a cursor. When a connection is lost, the stream is opened again after the last item that was yielded,
 * so that the reader sees neither a gap nor a duplicate. Three things end it: the signal (quietly), an error that another
 * connection would not change (thrown), and a server that closes it when `onClosed` says that it is over. After an end,
 * `items` may be called again and continues at the cursor.
 */
import { type BackoffPolicy, backoffMs } from '../time/backoff.ts';
import { sleep } from '../time/sleep.ts';
import { untilAborted } from '../time/until-aborted.ts';

export type StreamState = 'connecting' | 'live' | 'reconnecting' | 'paused';

/** What an error of a connection means for the stream. */
export type ErrorMeaning =
  /** Open it again after a pause. */
  | 'lost'
  /** The same request would fail again: throw the error. */
  | 'final'
  /** Open it again at once, after this cursor; without one, after the last item. */
  | { readonly resumeAt: string | undefined };

/** What it means that the server closed the stream without an error. */
export type CloseMeaning =
  /** There is no more. */
  | 'over'
  /** A watch has no end: its server is shutting down. */
  | 'lost'
  /** More is to come on another connection. */
  | 'retry';

export interface StreamSettings<T> {
  /** An empty cursor means from the start. */
  readonly open: (cursor: string, signal: AbortSignal) => AsyncIterable<T>;
  readonly onError: (error: unknown) => ErrorMeaning;
  readonly onClosed: () => CloseMeaning;
  /** Waits between two connections. `failures` counts the lost connections in a row that yielded nothing. */
  readonly pauseBeforeRetry: (failures: number, signal: AbortSignal) => Promise<void>;
  /** Without an item for this long, the connection counts as lost. For streams with heartbeats. */
  readonly idleLimitMs?: number;
  /** After this long without an error, a connection counts as live, also before its first item. */
  readonly liveAfterMs?: number;
  readonly onState?: (state: StreamState) => void;
}

type ConnectionEnd = CloseMeaning | 'replaced';

export function backoffPause(policy: BackoffPolicy): StreamSettings<unknown>['pauseBeforeRetry'] {
  return (failures, signal) => sleep(backoffMs(policy, failures + 1, Math.random()), signal);
}

export class ResumableStream<T extends { readonly cursor: string }> {
  /** Where the next connection starts. A reader may set it to '' to start over. */
  cursor = '';
  readonly #settings: StreamSettings<T>;
  #state: StreamState = 'connecting';
  #isPaused = false;
  #isWaiting = false;
  #received = 0;
  /** Ends the current connection, or the current wait. */
  #interrupt = new AbortController();

  constructor(settings: StreamSettings<T>) {
    this.#settings = settings;
  }

  async *items(signal: AbortSignal): AsyncGenerator<T, void> {
    let failures = 0;
    this.#setState('connecting');
    while (!signal.aborted) {
      if (this.#isPaused) {
        this.#setState('paused');
        await this.#waiting(signal, untilAborted);
        continue;
      }
      const before = this.#received;
      const end = yield* this.#connection(signal);
      if (signal.aborted || end === 'over') return;
      if (end === 'replaced') continue;
      failures = end === 'lost' && before === this.#received ? failures + 1 : 0;
      if (end === 'lost') this.#setState('reconnecting');
      await this.#waiting(signal, (wait) => this.#settings.pauseBeforeRetry(failures, wait));
    }
  }

  /** Closes the connection until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#interrupt.abort();
  }

  /** Ends a pause, and the wait before a retry; does not touch an open connection. */
  resume(): void {
    if (this.#isPaused || this.#isWaiting) this.reconnect();
  }

  /** Opens another connection now, after the same cursor. */
  reconnect(): void {
    this.#isPaused = false;
    this.#interrupt.abort();
  }

  async *#connection(signal: AbortSignal): AsyncGenerator<T, ConnectionEnd> {
    const idle = new AbortController();
    const connection = AbortSignal.any([this.#interruptible(signal), idle.signal]);
    const { idleLimitMs, liveAfterMs } = this.#settings;
    const startIdleTimer = () => idleLimitMs && setTimeout(() => idle.abort(), idleLimitMs);
    const liveTimer = liveAfterMs && setTimeout(() => this.#setState('live'), liveAfterMs);
    let idleTimer = startIdleTimer();
    try {
      for await (const item of this.#settings.open(this.cursor, connection)) {
        if (connection.aborted) break;
        clearTimeout(idleTimer);
        idleTimer = startIdleTimer();
        if (item.cursor !== '') this.cursor = item.cursor;
        this.#received += 1;
        this.#setState('live');
        yield item;
      }
      if (!connection.aborted) return this.#settings.onClosed();
    } catch (error) {
      if (!connection.aborted) return this.#endOfError(error);
    } finally {
      clearTimeout(idleTimer);
      clearTimeout(liveTimer);
    }
    return idle.signal.aborted ? 'lost' : 'replaced';
  }

  #endOfError(error: unknown): ConnectionEnd {
    const meaning = this.#settings.onError(error);
    if (meaning === 'final') throw error;
    if (meaning === 'lost') return 'lost';
    this.cursor = meaning.resumeAt ?? this.cursor;
    return 'replaced';
  }

  async #waiting(signal: AbortSignal, wait: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#isWaiting = true;
    try {
      await wait(this.#interruptible(signal));
    } finally {
      this.#isWaiting = false;
    }
  }

  #interruptible(signal: AbortSignal): AbortSignal {
    this.#interrupt = new AbortController();
    return AbortSignal.any([signal, this.#interrupt.signal]);
  }

  #setState(state: StreamState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#settings.onState?.(state);
  }
}
