/** The storm's own connection to the database: a query waits through a restart instead of failing. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** What the evidence is read from. */
export interface Rows {
  rows<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
}

export class StormDatabase implements Rows {
  readonly #pool: pg.Pool;
  readonly #whenUp: () => Promise<void>;

  constructor(url: string, whenUp: () => Promise<void>) {
    this.#pool = new pg.Pool({ connectionString: url, max: 4 });
    this.#pool.on('error', () => {});
    this.#whenUp = whenUp;
  }

  /** Only reads, and statements that may be repeated. */
  async rows<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    for (;;) {
      await this.#whenUp();
      try {
        return (await this.#pool.query<Row>(text, values)).rows;
      } catch (error) {
        if (isRefusal(error)) throw error;
        await sleep(50);
      }
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** The statement is wrong; anything else is a connection that was cut. */
function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !/^(08|53|57)/.test(error.code ?? '');
}
