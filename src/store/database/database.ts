/**
 * The connection to PostgreSQL. A query is a named statement, prepared once a connection. Store functions take the
 * Session that they run in, so that the caller decides what belongs to one transaction. No transaction is held across a call
 * to anything but the database.
 */
import pg from 'pg';
import { sleep } from '../../time/sleep.ts';
import { answerTo } from './answer-to.ts';
import { asAway, DatabaseAway } from './database-away.ts';
import { DatabaseHosts } from './database-hosts.ts';
import { utcTimestamp } from './timestamp.ts';
import { OpenTransaction, type Transaction } from './transaction.ts';
import { TurnShare } from './turn-share.ts';

/** int8 stays far below 2^53 here. */
const INT8 = 20;
pg.types.setTypeParser(INT8, Number);

const TIMESTAMPTZ = 1184;
const parseAnyTimestamp = pg.types.getTypeParser(TIMESTAMPTZ);
pg.types.setTypeParser(TIMESTAMPTZ, (text) => utcTimestamp(text) ?? parseAnyTimestamp(text));

/** A connection that is already broken never reports that it is closed. */
const CLOSE_GRACE_MS = 2_000;

export interface Session {
  /** Each name stands for one text; an empty name is for a text that is not prepared. */
  run<Row extends pg.QueryResultRow>(name: string, text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly maxConnections: number;
  readonly onIdleError: (error: Error) => void;
  /**
   * How long a transaction may wait for its client. A replica that hangs in the middle of one holds its locks, the lock on
   * events among them, so other replicas should not wait for it much longer than for its lease.
   */
  readonly transactionIdleMs?: number;
}

const TRANSACTION_IDLE_MS = 5_000;
const STATEMENT_MS = 30_000;
/** Ends statements to a server that was cut off without closing the connection. */
const ANSWER_MS = STATEMENT_MS + 5_000;
const LISTENING_ANSWER_MS = 5_000;

/** Errors are those of the driver; a Database throws its own. */
export function sessionOf(client: pg.ClientBase): Session {
  return {
    async run<Row extends pg.QueryResultRow>(name: string, text: string, values: readonly unknown[] = []) {
      const query = new pg.Query({ name, text, values: values as unknown[] });
      const { rows } = await answerTo(client, query);
      return rows as Row[];
    },
  };
}

export class Database {
  readonly url: string;
  /** Of the turns to write events, for those who send batches. */
  readonly turnShare = new TurnShare();
  readonly #pool: pg.Pool;
  readonly #hosts: DatabaseHosts;
  #onAway: (away: DatabaseAway) => DatabaseAway = (away) => away;
  #open = 0;
  /** Aborted when the last connection is closed. */
  readonly #allClosed = new AbortController();

  constructor(options: DatabaseOptions) {
    this.url = options.url;
    const hosts = new DatabaseHosts(options.url);
    this.#hosts = hosts;
    this.#pool = new pg.Pool({
      Client: hosts.clientClass(),
      onConnect: (client) => hosts.verify(client),
      max: options.maxConnections,
      // Statements of a transaction may be sent before the answers to those before them.
      pipeline: true,
      connectionTimeoutMillis: 10_000,
      application_name: 'ingot',
      query_timeout: ANSWER_MS,
      // A write that can't get its lock in this time is a defect somewhere; it must not pile up behind itself.
      options: `-c statement_timeout=${STATEMENT_MS} -c idle_in_transaction_session_timeout=${options.transactionIdleMs ?? TRANSACTION_IDLE_MS}`,
    });
    this.#pool.on('error', options.onIdleError);
    this.#pool.on('connect', (client) => {
      this.#open += 1;
      this.turnShare.opened(sessionNumberOf(client));
    });
    this.#pool.on('remove', (client) => {
      this.#open -= 1;
      this.turnShare.closed(sessionNumberOf(client));
      if (this.#open === 0 && this.#pool.ending) this.#allClosed.abort();
    });
    // The pool listens only while a connection is idle. One that is cut while it is in use fails the next
    // statement; the event itself, without a listener, would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  /** Receives every error that says that the database is away; callers get what it returns. */
  onAway(listener: (away: DatabaseAway) => DatabaseAway): void {
    this.#onAway = listener;
  }

  /** One statement, in its own transaction. */
  async run<Row extends pg.QueryResultRow>(
    name: string,
    text: string,
    values?: readonly unknown[],
  ): Promise<Row[]> {
    const client = await this.#connect();
    let broken: Error | undefined;
    try {
      return await this.#sessionOf(client).run<Row>(name, text, values);
    } catch (error) {
      // A broken connection must not go back to the pool: an answer may still arrive on it.
      if (error instanceof DatabaseAway) broken = error;
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** Without a statement of `work`, nothing is sent. */
  transaction<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
    return this.#inTransaction('BEGIN', work);
  }

  /** Several reads of one snapshot. */
  snapshot<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#inTransaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work);
  }

  async #inTransaction<T>(begin: string, work: (session: Transaction) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    const transaction = new OpenTransaction(client, begin);
    const session: Transaction = {
      run: (name, text, values) => this.#reporting(transaction.run(name, text, values)),
      finish: (last) => this.#reporting(transaction.finish(last)),
    };
    let broken: Error | undefined;
    try {
      const result = await work(session);
      await this.#reporting(transaction.commit());
      return result;
    } catch (error) {
      if (isConnectionGone(error)) broken = error;
      else if (transaction.isOpen) broken = await rolledBack(client);
      if (transaction.isConfused) broken ??= new Error('what is prepared on the connection is not known');
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      return await this.#connectToCurrent();
    } catch (error) {
      throw this.#reported(asAway(error, 'connecting'));
    }
  }

  /** When the server is gone or takes no writes any more, another may; connections to the old one are closed. */
  async #connectToCurrent(): Promise<pg.PoolClient> {
    for (let searched = !this.#hosts.areSeveral; ; ) {
      try {
        const client = await this.#pool.connect();
        if (this.#hosts.isCurrent(client)) return client;
        client.release(true);
      } catch (error) {
        if (searched) throw error;
        searched = true;
        await this.#hosts.search();
      }
    }
  }

  #sessionOf(client: pg.ClientBase): Session {
    const session = sessionOf(client);
    return { run: (name, text, values) => this.#reporting(session.run(name, text, values)) };
  }

  /** Errors as those of a Database. */
  async #reporting<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw this.#reported(asAway(error));
    }
  }

  #reported(error: unknown): unknown {
    return error instanceof DatabaseAway ? this.#onAway(error) : error;
  }

  /** A separate connection for LISTEN; the caller closes it. */
  newClient(): pg.Client {
    return new pg.Client({
      connectionString: this.#hosts.url,
      application_name: 'ingot-listen',
      connectionTimeoutMillis: 10_000,
      query_timeout: LISTENING_ANSWER_MS,
      keepAlive: true,
    });
  }

  /** Returns when the connections are closed, so that a database that is stopped next has none left. */
  async close(): Promise<void> {
    await this.#pool.end();
    if (this.#open > 0) await sleep(CLOSE_GRACE_MS, this.#allClosed.signal);
  }
}

/** As notices name the session that committed them. The driver's types do not know it. */
function sessionNumberOf(client: pg.ClientBase): number {
  return (client as unknown as { processID: number }).processID;
}

/** A connection that could not roll back is closed, not given to the next caller. */
async function rolledBack(client: pg.ClientBase): Promise<Error | undefined> {
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function isConnectionGone(error: unknown): error is DatabaseAway {
  return error instanceof DatabaseAway && error.effect === 'ask';
}

const UNIQUE_VIOLATION = '23505';
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return (
    error instanceof pg.DatabaseError && error.code === UNIQUE_VIOLATION && error.constraint === constraint
  );
}

const DEADLOCK = '40P01';

/** Repeats work that the database canceled to resolve a deadlock. */
export async function untilNotDeadlocked<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 5 || !(error instanceof DatabaseAway) || error.code !== DEADLOCK) throw error;
    }
  }
}

/** The database refused this statement; the connection works, and a repetition would fail again. */
export function isStatementError(error: unknown): boolean {
  // 55: object not in state, which passes. Errors that say that the database is away have another class.
  return error instanceof pg.DatabaseError && error.code !== undefined && error.code.slice(0, 2) !== '55';
}

/** The code with which the database refused a statement; null for any other error. */
export function sqlStateOf(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null;
}
