/**
 * Hears what other replicas (and this one) commit. A notification is only a hint that it is worth looking: after
 * a lost connection everything is looked at again, so nothing depends on one arriving.
 */
import type pg from 'pg';
import { FailurePause, type LoopWatch } from '../../engine/background-loop.ts';
import type { Notice } from '../events/append-events.ts';
import type { Database } from './database.ts';
import { asAway } from './database-away.ts';

export interface NotificationHandlers {
  readonly onNotice: (notice: Notice) => void;
  /** Connected, for the first time or again; anything may have been missed. */
  readonly onConnected: () => void;
  readonly watch: LoopWatch;
}

/** The loop, as the log and /readyz name it. */
const LISTENING = 'listening for notifications';
/** A connection that was cut off without a word is found out by asking. */
const PROBE_MS = 5_000;

export class Notifications {
  readonly #database: Database;
  readonly #handlers: NotificationHandlers;
  readonly #pause = new FailurePause();
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #probes: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(database: Database, handlers: NotificationHandlers) {
    this.#database = database;
    this.#handlers = handlers;
  }

  async connect(): Promise<void> {
    const client = this.#database.newClient();
    this.#client = client;
    let failed = false;
    const lost = (error: unknown) => {
      if (failed || this.#closed) return;
      failed = true;
      clearInterval(this.#probes);
      this.#handlers.watch.failed(LISTENING, asAway(error, 'connecting'));
      // It is broken already: how it ends tells nothing more.
      client.end().catch(() => {});
      this.#timer = setTimeout(() => void this.connect(), this.#pause.failed());
    };
    client.on('error', lost);
    client.on('end', () => lost(new Error('the listening connection ended')));
    client.on('notification', (message) => this.#handlers.onNotice((message.payload ?? '') as Notice));
    try {
      await client.connect();
      await client.query('LISTEN ingot');
      // It may be lost again by now: the end of a connection can come in one piece with an answer.
      if (failed || this.#closed) return;
      this.#pause.passed();
      this.#handlers.watch.passed(LISTENING);
      this.#probes = setInterval(() => void client.query('SELECT 1').catch(lost), PROBE_MS);
      this.#handlers.onConnected();
    } catch (error) {
      lost(error);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#probes);
    await this.#client?.end();
  }
}
