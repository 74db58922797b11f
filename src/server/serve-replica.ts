/**
 * The life of a serving process: wait for the database, serve, and go back to waiting when the schema has become too new.
 * While it waits, the HTTP port says that it lives and why it is not ready, and nothing is worked on.
 */
import { packageVersion } from '../package-root.ts';
import type { Database } from '../store/database/database.ts';
import { startSchemaWatch } from '../store/schema/schema-watch.ts';
import { Readiness } from '../surfaces/readiness.ts';
import { startWaitingServer, type WaitingServer } from '../surfaces/waiting-server.ts';
import { LoopHealth } from './loop-health.ts';
import { type Replica, type ReplicaOptions, startReplica } from './replica.ts';
import { untilDatabaseReady } from './until-database-ready.ts';

export interface ServeOptions extends Omit<ReplicaOptions, 'readiness'> {
  /** Leaves a database with a schema that this version can run on. Tried again while it can't be reached. */
  readonly prepare: (waiting: OnWaiting, signal: AbortSignal) => Promise<Database>;
  readonly onFatal: (error: Error) => void;
  /** Ends the waiting. */
  readonly signal?: AbortSignal;
  /** For tests. */
  readonly schemaCheckMs?: number;
}

export type OnWaiting = (cause: string) => Promise<void>;

export interface ServedReplica extends Replica {
  stop(): Promise<void>;
}

const CAUSE = 'starting';

export async function serveReplica(options: ServeOptions): Promise<ServedReplica> {
  const life = new ReplicaLife(options);
  try {
    const replica = await life.start();
    return { ...replica, stop: () => life.stop() };
  } catch (error) {
    await life.stop();
    throw error;
  }
}

class ReplicaLife {
  readonly #options: ServeOptions;
  readonly #readiness = new Readiness();
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  #waiting: WaitingServer | null = null;
  #cleanups: Array<() => Promise<void>> = [];
  /** A start or a suspension under way; it never rejects. */
  #busy: Promise<unknown> = Promise.resolve();
  /** As bound at first: who serves on any free port keeps it. */
  #ports: Replica | null = null;

  constructor(options: ServeOptions) {
    this.#options = options;
    const { signal } = this.#stopping;
    this.#signal = options.signal ? AbortSignal.any([signal, options.signal]) : signal;
  }

  start(): Promise<Replica> {
    const started = this.#untilStarted();
    this.#busy = started.catch(() => 'the caller has the error');
    return started;
  }

  #untilStarted(): Promise<Replica> {
    return untilDatabaseReady(() => this.#attempt(), {
      log: this.#options.log,
      signal: this.#signal,
      onWaiting: (cause) => this.#wait(cause),
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#busy;
    await this.#takeDown();
    await this.#stopWaiting();
  }

  async #attempt(): Promise<Replica> {
    const database = await this.#options.prepare((cause) => this.#wait(cause), this.#signal);
    this.#signal.throwIfAborted();
    await this.#stopWaiting();
    this.#readiness.clear(CAUSE);
    try {
      this.#ports = await startReplica(this.#replicaOptions(), database, this.#cleanups);
    } catch (error) {
      await this.#takeDown();
      throw error;
    }
    const loops = new LoopHealth({
      log: this.#options.log,
      monotonicNow: () => performance.now(),
      readiness: this.#readiness,
    });
    const watch = startSchemaWatch({
      database,
      version: packageVersion(),
      onTooNew: (error) => this.#suspend(error),
      watch: loops,
      ...(this.#options.schemaCheckMs === undefined ? {} : { checkMs: this.#options.schemaCheckMs }),
    });
    this.#cleanups.push(async () => {
      await watch.stop();
      loops.forget();
    });
    return this.#ports;
  }

  #replicaOptions(): ReplicaOptions {
    const { settings } = this.#options;
    const { httpPort = settings.httpAddress.port, grpcPort = settings.grpcAddress.port } = this.#ports ?? {};
    return {
      ...this.#options,
      readiness: this.#readiness,
      settings: {
        ...settings,
        httpAddress: { ...settings.httpAddress, port: httpPort },
        grpcAddress: { ...settings.grpcAddress, port: grpcPort },
      },
    };
  }

  /** Hands its work over, and starts again when the schema allows it. */
  #suspend(error: Error): void {
    const { log, onFatal } = this.#options;
    log.error({ cause: error.message }, 'the schema was changed; this replica stops working');
    this.#readiness.set(CAUSE, error.message);
    this.#busy = this.#takeDown().then(async () => {
      if (this.#signal.aborted) return;
      await this.#untilStarted().catch((reason: Error) => {
        if (!this.#signal.aborted) onFatal(reason);
      });
    });
  }

  async #wait(cause: string): Promise<void> {
    this.#readiness.set(CAUSE, cause);
    if (this.#waiting || this.#signal.aborted) return;
    const { settings } = this.#replicaOptions();
    this.#waiting = await startWaitingServer({ ...settings.httpAddress, readiness: this.#readiness });
    this.#ports = { httpPort: this.#waiting.port, grpcPort: settings.grpcAddress.port };
  }

  async #stopWaiting(): Promise<void> {
    await this.#waiting?.stop();
    this.#waiting = null;
  }

  async #takeDown(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) {
      await cleanup().catch((error: unknown) => this.#options.log.error({ err: error }, 'stopping'));
    }
  }
}
