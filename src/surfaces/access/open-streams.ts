/**
 * Ends streams whose caller is not let in any more: the token was revoked, the session ended, an expiry passed. A stream may
 * send nothing for hours, so its next message is too late to find out. Every stream is checked when credentials change
 * anywhere and right after its credentials expire. A notice of a change may be lost, so while streams are open, twice a second,
 * one query for all of them finds out whether anything changed; and every few seconds each is checked for what no query shows,
 * such as claims of an issuer.
 */
import type { Caller } from '../../domain/access/caller.ts';
import { Fault } from '../../domain/error/fault.ts';
import { BackgroundLoop, type LoopWatch } from '../../time/repeat-until-stopped.ts';

export interface OpenStreamsOptions {
  readonly now: () => number;
  readonly watch: LoopWatch;
  /** Another text after every change of credentials, by any replica. */
  readonly readState: () => Promise<string>;
  /** A change of which no notice arrived: empties what is cached, and calls checkAll. */
  readonly onMissedChange: () => void;
}

interface OpenStream {
  readonly caller: Caller;
  readonly check: () => Promise<unknown>;
  readonly ended: AbortController;
}

const TICK_MS = 500;
const TICKS_PER_FULL_CHECK = 20;

export class OpenStreams {
  readonly #options: OpenStreamsOptions;
  readonly #streams = new Set<OpenStream>();
  readonly #loop: BackgroundLoop;
  #tick = 0;
  /** Null: not read since the first of these streams was opened. */
  #state: string | null = null;

  constructor(options: OpenStreamsOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'checking the callers of streams',
      everyMs: TICK_MS,
      pass: () => this.#pass(),
      watch: options.watch,
    });
  }

  /** `check` throws the refusal. The signal is aborted with it. */
  open(caller: Caller, check: () => Promise<unknown>): { readonly signal: AbortSignal; close(): void } {
    const stream: OpenStream = { caller, check, ended: new AbortController() };
    this.#streams.add(stream);
    return { signal: stream.ended.signal, close: () => this.#streams.delete(stream) };
  }

  /** Credentials changed. */
  checkAll(): void {
    for (const stream of this.#streams) void this.#check(stream);
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #pass() {
    if (this.#streams.size === 0) {
      this.#state = null;
      return 'idle' as const;
    }
    this.#tick += 1;
    const isFull = this.#tick % TICKS_PER_FULL_CHECK === 0;
    const now = this.#options.now();
    for (const stream of this.#streams)
      if (isFull || (stream.caller.expiresAt ?? Number.POSITIVE_INFINITY) <= now) await this.#check(stream);
    await this.#findMissedChange();
    return 'passed' as const;
  }

  async #findMissedChange(): Promise<void> {
    const state = await this.#options.readState();
    if (state === this.#state) return;
    this.#state = state;
    this.#options.onMissedChange();
  }

  /** Where the check itself fails, because the database is away, the stream goes on until there is an answer. */
  async #check({ check, ended }: OpenStream): Promise<void> {
    try {
      await check();
    } catch (error) {
      if (isRefusal(error)) ended.abort(error);
    }
  }
}

function isRefusal(error: unknown): error is Fault {
  return error instanceof Fault && (error.kind === 'unauthenticated' || error.kind === 'permission_denied');
}
