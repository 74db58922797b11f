/**
 * The connection to PostgreSQL. A query is a named statement, prepared once a connection. Store functions take
 * the Session that they run in, so that the caller decides what belongs to one transaction; nobody holds a
 * transaction across a call to anything but the database.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

/** int8 stays far below 2^53 here. */
const INT8 = 20;
pg.types.setTypeParser(INT8, Number);

/** A connection that is already broken never says that it is closed. */
const CLOSE_GRACE_MS = 2_000;

export interface Session {
  /** The statement is named by its text's own first comment-free name, given by the caller. */
  run<Row extends pg.QueryResultRow>(name: string, text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly maxConnections: number;
  readonly onIdleError: (error: Error) => void;
  /**
   * How long a transaction may wait for its client. A replica that is frozen in the middle of one holds its locks,
   * the turn to write events among them, so nobody should wait for it much longer than for its lease.
   */
  readonly transactionIdleMs?: number;
}

const TRANSACTION_IDLE_MS = 5_000;

export function sessionOf(client: pg.ClientBase | pg.Pool): Session {
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
  #open = 0;
  #allClosed: () => void = () => {};

  constructor(options: DatabaseOptions) {
    this.url = options.url;
    this.#pool = new pg.Pool({
      connectionString: options.url,
      max: options.maxConnections,
      connectionTimeoutMillis: 10_000,
      application_name: 'ingot',
      // A write that can't get its lock in this time is a defect somewhere; it must not pile up behind itself.
      options: `-c statement_timeout=30000 -c idle_in_transaction_session_timeout=${options.transactionIdleMs ?? TRANSACTION_IDLE_MS}`,
    });
    this.#pool.on('error', options.onIdleError);
    this.#pool.on('connect', () => {
      this.#open += 1;
    });
    this.#pool.on('remove', () => {
      this.#open -= 1;
      if (this.#open === 0) this.#allClosed();
    });
    // The pool listens only while a connection is idle. One that is cut while somebody has it fails that work's
    // next statement; the event itself, unheard, would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
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
      // A connection that could not even roll back is thrown away, not given to the next caller.
      client.release(broken);
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

  /** Returns when the connections are closed, not only told to: a database that stops next is left in peace. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#allClosed = resolve;
    });
    await this.#pool.end();
    if (this.#open > 0) await Promise.race([closed, delay(CLOSE_GRACE_MS, undefined, { ref: false })]);
  }
}

const UNIQUE_VIOLATION = '23505';
/** Ours took too long; that is not the database being away. */
const QUERY_CANCELED = '57014';
const CONNECTION_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
]);

export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return (
    error instanceof pg.DatabaseError && error.code === UNIQUE_VIOLATION && error.constraint === constraint
  );
}

/** The database can't be reached, is starting or stopping, or is full: the same call may pass later. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    return ['08', '53', '57'].includes(error.code?.slice(0, 2) ?? '') && error.code !== QUERY_CANCELED;
  }
  if (!(error instanceof Error)) return false;
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined && CONNECTION_ERRORS.has(code)) return true;
  return /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
    error.message,
  );
}

const DEADLOCK = '40P01';

/** Runs work again that the database ended to free two who waited for each other. */
export async function untilNotDeadlocked<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 5 || !(error instanceof pg.DatabaseError) || error.code !== DEADLOCK) throw error;
    }
  }
}

/** The database refused this very statement; the connection is fine, and trying the same again is futile. */
export function isStatementError(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError) || error.code === undefined) return false;
  // 08 connection, 40 rollback, 53 resources, 55 not in state, 57 operator intervention: those pass.
  return !['08', '40', '53', '55', '57'].includes(error.code.slice(0, 2));
}
