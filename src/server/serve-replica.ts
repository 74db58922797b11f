/**
 * The lifecycle of a serving process: wait for the database, serve, and wait again when the schema has become too new. While
 * it waits, the HTTP port reports that it is alive and why it is not ready, and no work is done.
 */
import { packageVersion } from '../package-root.ts';
import type { Database } from '../store/database/database.ts';
import { startSchemaWatch } from '../store/schema/schema-watch.ts';
import { Readiness } from '../surfaces/readiness.ts';
import { startWaitingServer, type WaitingServer } from '../surfaces/waiting-server.ts';
import { LoopHealth } from './replica/loop-health.ts';
import type { ReplicaOptions } from './replica/replica-options.ts';
import { RunningParts } from './replica/running-parts.ts';
import { startReplica } from './replica/start-replica.ts';
import type { Ports } from './replica/start-surfaces.ts';
import { openTls } from './tls/open-tls.ts';
import type { WatchedTls } from './tls/watch-tls-files.ts';
import { untilDatabaseReady } from './until-database-ready.ts';

export interface ServeOptions extends Omit<ReplicaOptions, 'readiness' | 'tls'> {
  /** Returns a database with a schema that this version can run on. Repeated while the database can't be reached. */
  readonly prepare: (waiting: OnWaiting, signal: AbortSignal) => Promise<Database>;
  readonly onFatal: (error: Error) => void;
  /** Ends the waiting. */
  readonly signal?: AbortSignal;
  /** For tests. */
  readonly schemaCheckMs?: number;
}

export type OnWaiting = (cause: string) => Promise<void>;

export interface ServedReplica extends Ports {
  stop(): Promise<void>;
}

const CAUSE = 'starting';
/** A part that takes longer to stop is named in the log. Each has some 10 seconds to stop in order. */
const SLOW_STOP_MS = 15_000;

export async function serveReplica(options: ServeOptions): Promise<ServedReplica> {
  const lifecycle = new ReplicaLifecycle(options);
  try {
    const replica = await lifecycle.start();
    return { ...replica, stop: () => lifecycle.stop() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

class ReplicaLifecycle {
  readonly #options: ServeOptions;
  readonly #readiness = new Readiness();
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  readonly #tls: WatchedTls | null;
  #waiting: WaitingServer | null = null;
  readonly #running = new RunningParts();
  /** A start or a suspension in progress; it never rejects. */
  #busy: Promise<unknown> = Promise.resolve();
  /** As bound at first: a replica that was given any free port keeps it. */
  #ports: Ports | null = null;

  constructor(options: ServeOptions) {
    this.#options = options;
    this.#tls = openTls(options);
    const { signal } = this.#stopping;
    this.#signal = options.signal ? AbortSignal.any([signal, options.signal]) : signal;
  }

  start(): Promise<Ports> {
    const started = this.#untilStarted();
    this.#busy = started.catch(() => 'the caller receives the error');
    return started;
  }

  #untilStarted(): Promise<Ports> {
    return untilDatabaseReady(() => this.#attempt(), {
      log: this.#options.log,
      signal: this.#signal,
      onWaiting: (cause) => this.#wait(cause),
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#busy;
    await this.#stopServing();
    await this.#stopWaiting();
    await this.#tls?.stop();
  }

  async #attempt(): Promise<Ports> {
    const database = await this.#options.prepare((cause) => this.#wait(cause), this.#signal);
    this.#signal.throwIfAborted();
    await this.#stopWaiting();
    this.#readiness.clear(CAUSE);
    try {
      this.#ports = await startReplica(this.#replicaOptions(), database, this.#running);
    } catch (error) {
      await this.#stopServing();
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
    this.#running.stopWith('schema watch', async () => {
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
      tls: this.#tls,
      settings: {
        ...settings,
        httpAddress: { ...settings.httpAddress, port: httpPort },
        grpcAddress: { ...settings.grpcAddress, port: grpcPort },
      },
    };
  }

  /** Hands its work over, and starts again when the schema permits it. */
  #suspend(error: Error): void {
    const { log, onFatal } = this.#options;
    log.error({ cause: error.message }, 'the schema was changed; this replica stops its work');
    this.#readiness.set(CAUSE, error.message);
    this.#busy = this.#stopServing().then(async () => {
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
    this.#waiting = await startWaitingServer({
      ...settings.httpAddress,
      tls: this.#tls,
      readiness: this.#readiness,
    });
    this.#ports = { httpPort: this.#waiting.port, grpcPort: settings.grpcAddress.port };
  }

  async #stopWaiting(): Promise<void> {
    await this.#waiting?.stop();
    this.#waiting = null;
  }

  #stopServing(): Promise<void> {
    const { log } = this.#options;
    return this.#running.stopAll({
      slowMs: SLOW_STOP_MS,
      onSlow: (part) => log.warn({ part }, 'still stopping'),
      onError: (part, err) => log.error({ part, err }, 'stopping'),
    });
  }
}
