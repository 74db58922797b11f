/**
 * What happens, as it happens. One stream for the whole page; it comes back by itself after a drop, at the place where
 * it was cut, so nothing is missed and nothing is told twice. A page that nobody looks at lets go of its stream: a
 * browser has few connections for one server, and all of its tabs share them.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { type Event, WatchedEvent_Kind } from '../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fleet } from '../api/clients.ts';

export type LiveState = 'connecting' | 'live' | 'reconnecting' | 'paused';

export interface LiveStatus {
  readonly state: LiveState;
  /** When the stream was last heard, by this page's clock. 0: never. */
  readonly heardAt: number;
  /** What is shown is as of then. */
  readonly freshAt: number;
}

export interface EventListener {
  /** What happened, in order. */
  onEvents(events: readonly Event[]): void;
  /** Something may have been missed: what is shown must be asked for again. */
  onGap(): void;
}

/** The server says every 5 s that it lives. */
const SILENCE_MS = 16_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
const HIDDEN_MS = 15_000;
/** After this long what happened meanwhile is asked for as a whole, not told one by one. */
const STALE_MS = 120_000;
/** Events that come together are told together. */
const BATCH_MS = 120;

export class EventStream {
  readonly #listener: EventListener;
  readonly #watchers = new Set<() => void>();
  #status: LiveStatus = { state: 'connecting', heardAt: 0, freshAt: 0 };
  #cursor = '';
  #waiting: Event[] = [];
  #stopped = new AbortController();
  #call = new AbortController();
  #wake: () => void = () => {};
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(listener: EventListener) {
    this.#listener = listener;
  }

  start(): void {
    this.#stopped = new AbortController();
    document.addEventListener('visibilitychange', this.#onVisibility);
    // A tab that was opened in the background is told nothing until somebody looks at it.
    this.#onVisibility();
    void this.#run(this.#stopped.signal);
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    clearTimeout(this.#hiddenTimer);
    this.#stopped.abort();
    this.#call.abort();
    this.#wake();
  }

  readonly status = (): LiveStatus => this.#status;

  /** What is shown was asked for in another way. */
  isFresh(): void {
    this.#tell({ ...this.#status, freshAt: Date.now() });
  }

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  readonly #onVisibility = (): void => {
    clearTimeout(this.#hiddenTimer);
    if (document.visibilityState === 'visible') this.#wake();
    else this.#hiddenTimer = setTimeout(() => this.#call.abort(), HIDDEN_MS);
  };

  async #run(stopped: AbortSignal): Promise<void> {
    let failures = 0;
    while (!stopped.aborted) {
      if (document.visibilityState === 'hidden' && this.#status.heardAt > 0) {
        this.#tell({ ...this.#status, state: 'paused' });
        await this.#sleep(null);
        continue;
      }
      const heardBefore = this.#status.heardAt;
      await this.#follow(stopped);
      if (stopped.aborted) return;
      failures = this.#status.heardAt > heardBefore ? 0 : failures + 1;
      if (document.visibilityState === 'hidden') continue;
      this.#tell({ ...this.#status, state: 'reconnecting' });
      const ceiling = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
      await this.#sleep(FIRST_WAIT_MS / 2 + Math.random() * ceiling);
    }
  }

  async #follow(stopped: AbortSignal): Promise<void> {
    this.#call = new AbortController();
    const { signal } = this.#call;
    if (stopped.aborted) return;
    if (this.#cursor !== '' && Date.now() - this.#status.heardAt > STALE_MS) this.#cursor = '';
    const isFresh = this.#cursor === '';
    let silence = setTimeout(() => this.#call.abort(), SILENCE_MS);
    try {
      for await (const message of fleet.watchEvents({ cursor: this.#cursor }, { signal })) {
        clearTimeout(silence);
        silence = setTimeout(() => this.#call.abort(), SILENCE_MS);
        const wasLive = this.#status.state === 'live';
        this.#cursor = message.cursor;
        this.#tell({ state: 'live', heardAt: Date.now(), freshAt: Date.now() });
        // What was shown before the stream began is older than its first cursor.
        if (!wasLive && isFresh) this.#listener.onGap();
        if (message.kind === WatchedEvent_Kind.EVENT && message.event) this.#collect(message.event);
      }
    } catch (error) {
      const { code } = ConnectError.from(error);
      // A cursor that this server does not take: begin anew instead of asking for ever.
      if (code === Code.InvalidArgument) this.#cursor = '';
    } finally {
      clearTimeout(silence);
    }
  }

  #collect(event: Event): void {
    this.#waiting.push(event);
    if (this.#waiting.length > 1) return;
    setTimeout(() => {
      const events = this.#waiting;
      this.#waiting = [];
      this.#listener.onEvents(events);
    }, BATCH_MS);
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

  #tell(status: LiveStatus): void {
    this.#status = status;
    for (const watcher of this.#watchers) watcher();
  }
}
