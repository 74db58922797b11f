/**
 * Listens for what other replicas (and this one) commit. A notification only says that a read may find something new: after
 * a lost connection everything is read again, so nothing depends on one arriving.
 */
import type pg from 'pg';
import { BackgroundLoop, type LoopWatch } from '../../time/repeat-until-stopped.ts';
import { Signal } from '../../time/signal.ts';
import type { Database } from './database.ts';
import { asAway } from './database-away.ts';

/** The payload of a notification: what was committed. */
export type Notice =
  | 'events'
  | 'due'
  | 'logs'
  | 'tokens'
  | 'rollouts'
  | `cancel:${string}`
  | `console:${string}`;

export interface NotificationHandlers {
  readonly onNotice: (notice: Notice) => void;
  /** Connected, for the first time or again; any notice may have been missed. */
  readonly onConnected: () => void;
  readonly watch: LoopWatch;
}

/** A connection that was cut without a notice to us is detected by a query. */
const PROBE_MS = 5_000;

interface Connection {
  readonly client: pg.Client;
  lostBy: Error | null;
}

export class Notifications {
  readonly #database: Database;
  readonly #handlers: NotificationHandlers;
  readonly #loop: BackgroundLoop;
  readonly #lost = new Signal();
  #connection: Connection | null = null;
  #onFirstAttempt = () => {};

  constructor(database: Database, handlers: NotificationHandlers) {
    this.#database = database;
    this.#handlers = handlers;
    this.#loop = new BackgroundLoop({
      name: 'listening for notifications',
      everyMs: PROBE_MS,
      pass: (stop) => this.#keepListening(stop),
      watch: handlers.watch,
      wake: this.#lost,
    });
  }

  /** Returns after the first attempt to connect. One that failed is repeated in the background. */
  async start(): Promise<void> {
    const attempted = new Promise<void>((resolve) => {
      this.#onFirstAttempt = resolve;
    });
    this.#loop.start();
    await attempted;
  }

  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    await this.#connection?.client.end();
    await stopped;
  }

  async #keepListening(stop: AbortSignal): Promise<void> {
    try {
      const connection = this.#connection;
      if (connection === null) return await this.#connect(stop);
      if (connection.lostBy) throw connection.lostBy;
      await connection.client.query('SELECT 1');
    } catch (error) {
      // It is broken: an error while it closes says nothing new.
      this.#connection?.client.end().catch(() => {});
      this.#connection = null;
      throw asAway(error, 'connecting');
    } finally {
      this.#onFirstAttempt();
    }
  }

  async #connect(stop: AbortSignal): Promise<void> {
    const client = this.#database.newClient();
    const connection: Connection = { client, lostBy: null };
    this.#connection = connection;
    const lost = (error: Error) => {
      connection.lostBy ??= error;
      if (this.#connection === connection) this.#lost.notify();
    };
    client.on('error', lost);
    client.on('end', () => lost(new Error('the listening connection ended')));
    client.on('notification', ({ payload, processId }) => {
      if (payload === 'events') this.#database.turnShare.committed(processId);
      this.#handlers.onNotice((payload ?? '') as Notice);
    });
    await client.connect();
    await client.query('LISTEN ingot');
    // The end of a connection can arrive in one piece with an answer.
    if (connection.lostBy) throw connection.lostBy;
    if (!stop.aborted) this.#handlers.onConnected();
  }
}
