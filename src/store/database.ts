/**
 * The connection to PostgreSQL. A query is a named statement, prepared once a connection. Store functions take
 * the Session that they run in, so that the caller decides what belongs to one transaction; nobody holds a
 * transaction across a call to anything but the database.
 */
import pg from 'pg';

/** int8 and xid8 stay far below 2^53 here. */
const INT8 = 20;
const XID8 = 5069;
pg.types.setTypeParser(INT8, Number);
pg.types.setTypeParser(XID8 as never, Number);

export interface Session {
  /** The statement is named by its text's own first comment-free name, given by the caller. */
  run<Row extends pg.QueryResultRow>(name: string, text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly maxConnections: number;
  readonly onIdleError: (error: Error) => void;
}

function sessionOf(client: pg.ClientBase | pg.Pool): Session {
  return {
    async run<Row extends pg.QueryResultRow>(name: string, text: string, values: readonly unknown[] = []) {
      const result = await client.query<Row>({ name, text, values: values as unknown[] });
      return result.rows;
    },
  };
}

export class Database {
  readonly url: string;
  readonly #pool: pg.Pool;
  readonly #session: Session;

  constructor(options: DatabaseOptions) {
    this.url = options.url;
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.maxConnections,
      connectionTimeoutMillis: 10_000,
      application_name: 'ingot',
      // A write that can't get its lock in this time is a defect somewhere; it must not pile up behind itself.
      options: '-c statement_timeout=30000 -c idle_in_transaction_session_timeout=30000',
    });
    this.#pool.on('error', options.onIdleError);
    this.#session = sessionOf(this.#pool);
  }

  /** One statement, in a transaction of its own. */
  run<Row extends pg.QueryResultRow>(
    name: string,
    text: string,
    values?: readonly unknown[],
  ): Promise<Row[]> {
    return this.#session.run<Row>(name, text, values);
  }

  transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#inTransaction('BEGIN', work);
  }

  /** Several reads that see the same moment. */
  snapshot<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#inTransaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work);
  }

  async #inTransaction<T>(begin: string, work: (session: Session) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    // A connection that is cut between two statements says so here; unheard, it would end the process.
    const onCut = (error: Error) => {
      broken = error;
    };
    client.on('error', onCut);
    try {
      await client.query(begin);
      const result = await work(sessionOf(client));
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((rollbackError: Error) => {
        broken = rollbackError;
      });
      throw error;
    } finally {
      // A connection that was cut or could not even roll back is thrown away, not given to the next caller.
      client.release(broken);
      client.off('error', onCut);
    }
  }

  /** A connection of its own for LISTEN; the caller ends it. */
  newClient(): pg.Client {
    return new pg.Client({
      connectionString: this.url,
      application_name: 'ingot-listen',
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    });
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

const UNIQUE_VIOLATION = '23505';

export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return (
    error instanceof pg.DatabaseError && error.code === UNIQUE_VIOLATION && error.constraint === constraint
  );
}

/** The database refused this very statement; the connection is fine, and trying the same again is futile. */
export function isStatementError(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return false;
  // 08 connection, 40 rollback, 53 resources, 55 not in state, 57 operator intervention: those pass.
  return !['08', '40', '53', '55', '57'].includes(error.code.slice(0, 2));
}
