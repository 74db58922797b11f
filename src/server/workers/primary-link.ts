/** A worker's end of the channel to its primary. */
import type { Worker } from 'node:cluster';
import { EventEmitter, once } from 'node:events';
import type { OnWaiting } from '../serve-replica.ts';
import type { DatabaseState, FromWorker, ToWorker, WorkerStart } from './worker-messages.ts';

type Prepared = Extract<DatabaseState, { kind: 'prepared' }>;

export class PrimaryLink {
  readonly started: Promise<WorkerStart>;
  readonly #stopping = new AbortController();
  readonly #channel: Worker;
  readonly #changes = new EventEmitter();
  #state: DatabaseState | null = null;
  #gone = false;

  constructor(channel: Worker) {
    this.#channel = channel;
    this.started = new Promise((resolve) => {
      channel.on('message', (message: ToWorker) => this.#receive(message, resolve));
    });
    this.send({ kind: 'loaded' });
    channel.on('disconnect', () => {
      // Without this the process would exit here, without handing its work over.
      channel.exitedAfterDisconnect = true;
      this.#gone = true;
      this.#stopping.abort();
    });
  }

  /** Aborted when the primary asks the worker to stop, and when the primary is gone. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  get isGone(): boolean {
    return this.#gone;
  }

  get state(): DatabaseState | null {
    return this.#state;
  }

  async prepared(waiting: OnWaiting, signal: AbortSignal): Promise<Prepared> {
    for (;;) {
      const state = this.#state;
      if (state?.kind === 'prepared') return state;
      if (state) await waiting(state.cause);
      if (state === this.#state) await once(this.#changes, 'change', { signal });
    }
  }

  send(message: FromWorker): void {
    if (this.#channel.isConnected()) this.#channel.send(message);
  }

  #receive(message: ToWorker, start: (message: WorkerStart) => void): void {
    switch (message.kind) {
      case 'start':
        start(message);
        return;
      case 'stop':
        this.#stopping.abort();
        return;
      case 'waiting':
      case 'prepared':
        this.#state = message;
        this.#changes.emit('change');
    }
  }
}
