/**
 * Follows the log of one operation into a buffer. After a lost connection it continues after the last line, so that none is
 * missing and none appears twice. The server closes the stream when the operation has finished; an operation that is retried
 * runs again, and so does its log.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { backoffPause, ResumableStream, type StreamState } from '../../../../src/client/resumable-stream.ts';
import { untilAborted } from '../../../../src/time/until-aborted.ts';
import type { LogBuffer } from './log-buffer.ts';
import { linesOf } from './log-text.ts';

export type TailState = StreamState | 'ended' | 'failed';

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
  /** Whether more lines are expected, as far as the page knows. */
  readonly isActive: () => boolean;
  readonly onChange: () => void;
}

const LIVE_AFTER_MS = 2_000;

/** The same request would fail again. */
const FINAL: readonly Code[] = [Code.NotFound, Code.PermissionDenied, Code.InvalidArgument];

export class LogTail {
  readonly #options: TailOptions;
  readonly #stream: ResumableStream<TailChunk>;
  #state: TailState = 'connecting';
  #error: unknown = null;
  #stopped = new AbortController();
  /** Ends the wait after `ended` or `failed`. */
  #restart = new AbortController();

  constructor(options: TailOptions) {
    this.#options = options;
    this.#stream = new ResumableStream({
      open: options.open,
      onError: (error) => (FINAL.includes(ConnectError.from(error).code) ? 'final' : 'lost'),
      onClosed: () => (options.isActive() ? 'retry' : 'over'),
      pauseBeforeRetry: backoffPause({ firstMs: 500, maxMs: 10_000 }),
      liveAfterMs: LIVE_AFTER_MS,
      onState: (state) => this.#setState(state),
    });
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
  }

  /** Closes the connection and keeps the lines. */
  pause(): void {
    this.#stream.pause();
  }

  /** Continues on a new connection, also after the end. */
  resume(): void {
    this.#stream.reconnect();
    this.#restart.abort();
  }

  async #run(stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      const end = await this.#follow(stopped);
      if (stopped.aborted) return;
      this.#setState(end);
      this.#restart = new AbortController();
      await untilAborted(AbortSignal.any([stopped, this.#restart.signal]));
    }
  }

  async #follow(stopped: AbortSignal): Promise<'ended' | 'failed'> {
    try {
      for await (const chunk of this.#stream.items(stopped)) this.#append(chunk);
      return 'ended';
    } catch (error) {
      this.#error = error;
      return 'failed';
    }
  }

  #append({ at, stream, step, data }: TailChunk): void {
    for (const text of linesOf(data)) this.#options.buffer.append({ at, stream, step, text });
    this.#options.onChange();
  }

  #setState(state: TailState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#options.onChange();
  }
}
