/**
 * Hears what other replicas (and this one) commit. A notification is only a hint that it is worth looking: after
 * a lost connection everything is looked at again, so nothing depends on one arriving.
 */
import type pg from 'pg';
import type { Notice } from './append-events.ts';
import type { Database } from './database.ts';

export interface NotificationHandlers {
  readonly onNotice: (notice: Notice) => void;
  /** Connected, for the first time or again; anything may have been missed. */
  readonly onConnected: () => void;
  readonly onError: (error: unknown) => void;
}

const RECONNECT_MS = 250;

export class Notifications {
  readonly #database: Database;
  readonly #handlers: NotificationHandlers;
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | undefined;
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
      this.#handlers.onError(error);
      client.end().catch(this.#handlers.onError);
      this.#timer = setTimeout(() => void this.connect(), RECONNECT_MS);
    };
    client.on('error', lost);
    client.on('end', () => lost(new Error('the listening connection ended')));
    client.on('notification', (message) => this.#handlers.onNotice((message.payload ?? '') as Notice));
    try {
      await client.connect();
      await client.query('LISTEN ingot');
      this.#handlers.onConnected();
    } catch (error) {
      lost(error);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#client?.end();
  }
}
