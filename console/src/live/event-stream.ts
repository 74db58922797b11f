/**
 * The fleet's events, live. One stream serves the whole page. After a drop it continues at its cursor, so that no event is
 * missed or delivered twice. A hidden page closes its stream: a browser allows few connections per server, and all tabs
 * share them.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { backoffPause, ResumableStream, type StreamState } from '../../../src/client/resumable-stream.ts';
import {
  type Event,
  type WatchedEvent,
  WatchedEvent_Kind,
} from '../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fleet } from '../api/clients.ts';

export interface LiveStatus {
  readonly state: StreamState;
  /** When the stream last delivered a message, by this page's clock. 0: never. */
  readonly heardAt: number;
  /** The page shows the state as of this time. */
  readonly freshAt: number;
}

export interface EventListener {
  /** New events, in order. */
  onEvents(events: readonly Event[]): void;
  /** Events may have been missed: everything on the page must be read again. */
  onGap(): void;
}

/** The server sends a heartbeat every 5 s. */
const IDLE_LIMIT_MS = 16_000;
const HIDDEN_MS = 15_000;
/** After a longer interruption the page reads everything again instead of replaying each event. */
const STALE_MS = 120_000;
/** Events that arrive within this time are delivered together. */
const BATCH_MS = 120;

export class EventStream {
  readonly #listener: EventListener;
  readonly #watchers = new Set<() => void>();
  readonly #stream: ResumableStream<WatchedEvent>;
  #status: LiveStatus = { state: 'connecting', heardAt: 0, freshAt: 0 };
  #batch: Event[] = [];
  /** The connection started without a cursor, and has delivered nothing yet. */
  #startsOver = false;
  #stopped = new AbortController();
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(listener: EventListener) {
    this.#listener = listener;
    this.#stream = new ResumableStream({
      open: (cursor, signal) => this.#open(cursor, signal),
      onError: (error) => this.#onError(error),
      onClosed: () => 'lost',
      pauseBeforeRetry: backoffPause({ firstMs: 500, maxMs: 10_000 }),
      idleLimitMs: IDLE_LIMIT_MS,
      onState: (state) => {
        if (state !== 'live') this.#setStatus({ ...this.#status, state });
      },
    });
  }

  start(): void {
    this.#stopped = new AbortController();
    document.addEventListener('visibilitychange', this.#onVisibility);
    // The tab may have been opened in the background.
    this.#onVisibility();
    void this.#run(this.#stopped.signal);
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    clearTimeout(this.#hiddenTimer);
    this.#stopped.abort();
  }

  readonly status = (): LiveStatus => this.#status;

  /** The page has read everything in another way. */
  markFresh(): void {
    this.#setStatus({ ...this.#status, freshAt: Date.now() });
  }

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  readonly #onVisibility = (): void => {
    clearTimeout(this.#hiddenTimer);
    if (document.visibilityState === 'visible') this.#stream.resume();
    else this.#hiddenTimer = setTimeout(() => this.#stream.pause(), HIDDEN_MS);
  };

  #open(cursor: string, signal: AbortSignal): AsyncIterable<WatchedEvent> {
    const isStale = Date.now() - this.#status.heardAt > STALE_MS;
    this.#startsOver = cursor === '' || isStale;
    return fleet.watchEvents({ cursor: this.#startsOver ? '' : cursor }, { signal });
  }

  #onError(error: unknown): 'lost' {
    // This server does not accept the cursor: start over, instead of failing forever.
    if (ConnectError.from(error).code === Code.InvalidArgument) this.#stream.cursor = '';
    return 'lost';
  }

  async #run(stopped: AbortSignal): Promise<void> {
    for await (const message of this.#stream.items(stopped)) {
      this.#setStatus({ state: 'live', heardAt: Date.now(), freshAt: Date.now() });
      // What the page shows is older than the first cursor of the stream.
      if (this.#startsOver) this.#listener.onGap();
      this.#startsOver = false;
      if (message.kind === WatchedEvent_Kind.EVENT && message.event) this.#collect(message.event);
    }
  }

  #collect(event: Event): void {
    this.#batch.push(event);
    if (this.#batch.length > 1) return;
    setTimeout(() => {
      const events = this.#batch;
      this.#batch = [];
      this.#listener.onEvents(events);
    }, BATCH_MS);
  }

  #setStatus(status: LiveStatus): void {
    this.#status = status;
    for (const watcher of this.#watchers) watcher();
  }
}
