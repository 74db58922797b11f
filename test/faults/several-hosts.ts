/** The test's own access to a database of several servers: a query waits through a fail-over instead of failing. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Rows } from '../chaos/storm-database.ts';

export class SeveralHosts implements Rows {
  readonly #urls: readonly string[];
  #client: pg.Client | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  /** Only reads, and statements that may be repeated. One at a time. */
  rows<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const result = this.#turn.then(() => this.#untilAnswered<Row>(text, values));
    this.#turn = result.catch(() => {});
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#turn;
    await this.#client?.end().catch(() => {});
  }

  async #untilAnswered<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<Row[]> {
    for (;;) {
      try {
        this.#client ??= await this.#connect();
        return (await this.#client.query<Row>(text, values)).rows;
      } catch (error) {
        // The statement itself is wrong; anything else is a server that is gone, or is no leader any more.
        if (error instanceof pg.DatabaseError && !/^(08|25006|53|57)/.test(error.code ?? '')) throw error;
        if (this.#closed) throw error;
        void this.#client?.end().catch(() => {});
        this.#client = null;
        await sleep(100);
      }
    }
  }

  async #connect(): Promise<pg.Client> {
    for (const connectionString of this.#urls) {
      const client = new pg.Client({
        connectionString,
        connectionTimeoutMillis: 2_000,
        query_timeout: 30_000,
      });
      client.on('error', () => {});
      try {
        await client.connect();
        const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
        if (rows[0]?.standby === false) return client;
      } catch {
        // Another one may be the leader.
      }
      void client.end().catch(() => {});
    }
    throw new Error('there is no leader');
  }
}
