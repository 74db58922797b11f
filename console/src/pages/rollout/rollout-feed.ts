/**
 * A rollout and its machines, live. The stream carries the rollout as it is after every change and the machines that
 * changed; after a lost connection it continues at its cursor. Where more changed than a message lists, and after a break,
 * the machines are read again, page by page, while the old ones stay in view.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { backoffPause, ResumableStream, type StreamState } from '../../../../src/client/resumable-stream.ts';
import {
  type Rollout,
  type RolloutEvent,
  RolloutEvent_Kind,
} from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { sleep } from '../../../../src/time/sleep.ts';
import { untilAborted } from '../../../../src/time/until-aborted.ts';
import { isEnded } from '../../rollout-view.ts';
import { type GridMachine, gridMachine, RolloutMachines } from './rollout-machines.ts';

export interface FeedOptions {
  readonly watch: (cursor: string, signal: AbortSignal) => AsyncIterable<RolloutEvent>;
  /** All machines, in the order of their turn; `onProgress` with each page. */
  readonly readMachines: (
    onProgress: (read: number) => void,
    signal: AbortSignal,
  ) => Promise<readonly GridMachine[]>;
  readonly onChange: () => void;
  /** Waits after the machines were read before they are read again. */
  readonly pauseMs?: number;
}

export interface FeedStatus {
  readonly rollout: Rollout | null;
  readonly stream: StreamState | 'ended' | 'failed';
  /** Why the stream failed. */
  readonly error: unknown;
  /** `old`: shown, and being read again, or out of date because that failed. */
  readonly machines: 'loading' | 'fresh' | 'old' | 'failed';
  /** How many machines were read so far, while they load. */
  readonly read: number;
  readonly machinesError: unknown;
}

/** The server sends a message at least every few seconds. */
const IDLE_LIMIT_MS = 30_000;
const PAUSE_MS = 2_000;
const FINAL: readonly Code[] = [Code.NotFound, Code.PermissionDenied];

export class RolloutFeed {
  readonly machines = new RolloutMachines();
  readonly #options: Required<FeedOptions>;
  readonly #stream: ResumableStream<RolloutEvent>;
  #status: FeedStatus = {
    rollout: null,
    stream: 'connecting',
    error: null,
    machines: 'loading',
    read: 0,
    machinesError: null,
  };
  #isFirst = true;
  #wantsMachines = false;
  #isReading = false;
  /** Changes that arrive while the machines are being read. */
  #later: GridMachine[] = [];
  #stopped = new AbortController();
  #restart = new AbortController();

  constructor(options: FeedOptions) {
    this.#options = { pauseMs: PAUSE_MS, ...options };
    this.#stream = new ResumableStream({
      open: (cursor, signal) => {
        this.#isFirst = true;
        return options.watch(cursor, signal);
      },
      onError: (error) => this.#onError(error),
      onClosed: () => (this.#status.rollout && isEnded(this.#status.rollout) ? 'over' : 'lost'),
      pauseBeforeRetry: backoffPause({ firstMs: 500, maxMs: 10_000 }),
      idleLimitMs: IDLE_LIMIT_MS,
      onState: (stream) => this.#set({ stream }),
    });
  }

  get status(): FeedStatus {
    return this.#status;
  }

  start(): void {
    this.#stopped = new AbortController();
    void this.#run(this.#stopped.signal);
  }

  stop(): void {
    this.#stopped.abort();
  }

  pause(): void {
    this.#stream.pause();
  }

  /** Continues on a new connection, also after the end: a rollout that has ended goes on after a retry. */
  resume(): void {
    this.#stream.reconnect();
    this.#restart.abort();
  }

  /** What a call that changed the rollout answered; the stream follows. */
  accept(rollout: Rollout): void {
    const { rollout: known, stream } = this.#status;
    if (!known || rollout.revision > known.revision) this.#set({ rollout });
    if (stream === 'ended' || stream === 'failed') this.resume();
  }

  readMachinesAgain(): void {
    void this.#readMachines();
  }

  async #run(stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      const end = await this.#follow(stopped);
      if (stopped.aborted) return;
      this.#set({ stream: end });
      this.#restart = new AbortController();
      await untilAborted(AbortSignal.any([stopped, this.#restart.signal]));
    }
  }

  async #follow(stopped: AbortSignal): Promise<'ended' | 'failed'> {
    try {
      for await (const event of this.#stream.items(stopped)) this.#take(event);
      return 'ended';
    } catch (error) {
      this.#set({ error });
      return 'failed';
    }
  }

  #take(event: RolloutEvent): void {
    if (event.kind === RolloutEvent_Kind.ALIVE || !event.rollout) return;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const before = this.#status.rollout?.revision;
    this.#set({ rollout: event.rollout });
    // The first message of a connection may stand for many changes, and lists none of their machines.
    const hasGap = isFirst && (before !== event.rollout.revision || this.#status.machines !== 'fresh');
    if (hasGap || event.moreMachines) void this.#readMachines();
    const changed = event.machines.map(gridMachine);
    if (this.#isReading) this.#later.push(...changed);
    this.machines.apply(changed);
    this.#options.onChange();
  }

  async #readMachines(): Promise<void> {
    this.#wantsMachines = true;
    if (this.#isReading) return;
    this.#isReading = true;
    // Each time the current signal: the page may have stopped the feed and started it again.
    while (this.#wantsMachines && !this.#stopped.signal.aborted) {
      const { signal } = this.#stopped;
      this.#wantsMachines = false;
      await this.#readOnce(signal);
      if (this.#wantsMachines) await sleep(this.#options.pauseMs, signal);
    }
    this.#isReading = false;
  }

  async #readOnce(signal: AbortSignal): Promise<void> {
    const hasAny = this.machines.list.length > 0;
    this.#later = [];
    this.#set({ machines: hasAny ? 'old' : 'loading', read: 0 });
    try {
      const read = await this.#options.readMachines((count) => this.#set({ read: count }), signal);
      if (signal.aborted) return;
      this.machines.replaceAll(read);
      this.machines.apply(this.#later);
      this.#set({ machines: 'fresh', machinesError: null });
    } catch (error) {
      if (signal.aborted) return;
      this.#set({ machines: hasAny ? 'old' : 'failed', machinesError: error });
    }
  }

  #onError(error: unknown): 'lost' | 'final' {
    const { code } = ConnectError.from(error);
    if (FINAL.includes(code)) return 'final';
    // This server does not accept the cursor: start over, instead of failing forever.
    if (code === Code.InvalidArgument || code === Code.OutOfRange) this.#stream.cursor = '';
    return 'lost';
  }

  #set(change: Partial<FeedStatus>): void {
    this.#status = { ...this.#status, ...change };
    this.#options.onChange();
  }
}
