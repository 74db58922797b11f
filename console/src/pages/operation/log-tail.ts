/**
 * Follows the log of one operation into a buffer. A chunk and its cursor are taken together, so a stream that breaks is
 * taken up right after the last line that was seen: none is lost and none comes twice. The server ends the stream when
 * the operation has ended; an operation that somebody retries goes on, and so does its log.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import type { LogBuffer } from './log-buffer.ts';
import { linesOf } from './log-text.ts';

export type TailState = 'connecting' | 'following' | 'reconnecting' | 'paused' | 'ended' | 'failed';

export interface TailChunk {
  readonly at: number;
  readonly stream: string;
  readonly step: string;
  readonly data: Uint8Array;
  readonly cursor: string;
}

export interface TailOptions {
  readonly buffer: LogBuffer;
  readonly open: (cursor: string, signal: AbortSignal) => AsyncIterable<TailChunk>;
  /** Whether more is to come, as far as the page knows. */
  readonly isActive: () => boolean;
  readonly onChange: () => void;
  readonly waits?: TailWaits;
}

export interface TailWaits {
  readonly firstMs: number;
  readonly longestMs: number;
  /** A stream that has been open for this long without an error is taken to be well. */
  readonly settledMs: number;
}

const WAITS: TailWaits = { firstMs: 500, longestMs: 10_000, settledMs: 2_000 };

/** Asking again would be answered the same. */
const FINAL: readonly Code[] = [Code.NotFound, Code.PermissionDenied, Code.InvalidArgument];

export class LogTail {
  readonly #options: TailOptions;
  readonly #waits: TailWaits;
  #state: TailState = 'connecting';
  #error: unknown = null;
  #cursor = '';
  #call = new AbortController();
  #stopped = new AbortController();
  #isPaused = false;
  #wake: () => void = () => {};

  constructor(options: TailOptions) {
    this.#options = options;
    this.#waits = options.waits ?? WAITS;
  }

  get state(): TailState {
    return this.#state;
  }

  /** Why it failed. */
  get error(): unknown {
    return this.#error;
  }

  start(): void {
    this.#stopped = new AbortController();
    void this.#run(this.#stopped.signal);
  }

  stop(): void {
    this.#stopped.abort();
    this.#call.abort();
    this.#wake();
  }

  /** Lets go of the connection; what came stays. */
  pause(): void {
    this.#isPaused = true;
    this.#call.abort();
    this.#wake();
  }

  /** Goes on where it was, with a new connection. */
  resume(): void {
    this.#isPaused = false;
    this.#call.abort();
    this.#wake();
  }

  async #run(stopped: AbortSignal): Promise<void> {
    let failures = 0;
    while (!stopped.aborted) {
      if (this.#isPaused) {
        this.#tell('paused');
        await this.#sleep(null);
        continue;
      }
      const before = this.#cursor;
      const end = await this.#follow();
      if (stopped.aborted) return;
      if (end === 'aborted') continue;
      failures = end === 'failed' && before === this.#cursor ? failures + 1 : 0;
      if (end === 'final') {
        this.#tell('failed');
        await this.#sleep(null);
      } else if (end === 'over' && !this.#options.isActive()) {
        this.#tell('ended');
        await this.#sleep(null);
      } else {
        if (end === 'failed') this.#tell('reconnecting');
        const ceiling = Math.min(this.#waits.longestMs, this.#waits.firstMs * 2 ** failures);
        await this.#sleep(this.#waits.firstMs / 2 + Math.random() * ceiling);
      }
    }
  }

  async #follow(): Promise<'over' | 'failed' | 'final' | 'aborted'> {
    this.#call = new AbortController();
    const { signal } = this.#call;
    const settled = setTimeout(() => this.#tell('following'), this.#waits.settledMs);
    try {
      for await (const chunk of this.#options.open(this.#cursor, signal)) {
        if (signal.aborted) return 'aborted';
        this.#take(chunk);
        this.#tell('following');
      }
      return signal.aborted ? 'aborted' : 'over';
    } catch (error) {
      if (signal.aborted) return 'aborted';
      this.#error = error;
      return FINAL.includes(ConnectError.from(error).code) ? 'final' : 'failed';
    } finally {
      clearTimeout(settled);
    }
  }

  #take({ at, stream, step, data, cursor }: TailChunk): void {
    for (const text of linesOf(data)) this.#options.buffer.append({ at, stream, step, text });
    this.#cursor = cursor;
    this.#options.onChange();
  }

  #tell(state: TailState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#options.onChange();
  }

  #sleep(ms: number | null): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === null ? undefined : setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
