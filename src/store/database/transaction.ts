/**
 * A transaction on one connection, in as few round trips as its statements allow. While it waits for an answer it holds its locks,
 * the one of the event log among them, and the answer waits for the event loop of a busy server. So:
 *
 * - BEGIN travels with the first statement, in one exchange: where BEGIN fails, PostgreSQL skips the statement.
 * - Statements that do not need each other's answers may be sent together, by calling `run` without awaiting the one before.
 * - `finish` sends COMMIT right behind the last ones. Where one of them has failed, PostgreSQL answers COMMIT with a rollback.
 *
 * Behind a failure everything fails, COMMIT included, and the order in which callers see it depends on how they wait. So each of them
 * gets the first failure, which is the cause.
 *
 * PostgreSQL carries out the statements of a connection one after the other, in the order in which they were sent.
 */
import pg from 'pg';
import { type Answer, answerTo } from './answer-to.ts';
import type { Session } from './database.ts';

/** Complete before it is sent: an error that the making of its values throws finds nothing of a transaction's last step under way. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface Transaction extends Session {
  /** Sends the last statements and COMMIT behind them; nothing may follow. Returns the rows of each. */
  finish(last: readonly Statement[]): Promise<pg.QueryResultRow[][]>;
}

/** Sends them without waiting for the answers to those before. Returns the rows of each. */
export function runTogether(
  session: Session,
  statements: readonly Statement[],
): Promise<pg.QueryResultRow[][]> {
  return Promise.all(statements.map(({ name, text, values }) => session.run(name, text, values)));
}

/** The parts of the driver's connection that a query writes to. */
interface Wire {
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly submittedNamedStatements: Readonly<Record<string, string>>;
  parse(statement: { text: string }): void;
  bind(portal: object): void;
  execute(portal: object): void;
}

type Prepare = (this: unknown, wire: Wire) => void;
const { prepare } = pg.Query.prototype as unknown as { prepare: Prepare };

/** Carries BEGIN before its own statement, in the same exchange. */
class FirstQuery extends pg.Query {
  readonly #begin: string;
  readonly #statement: string;
  isFirstUse = false;

  constructor(begin: string, statement: pg.QueryConfig) {
    super({ queryMode: 'extended', ...statement } as pg.QueryConfig);
    this.#begin = begin;
    this.#statement = statement.name ?? '';
  }

  /** Called by the driver. */
  prepare(wire: Wire): void {
    const known = wire.parsedStatements[this.#statement] ?? wire.submittedNamedStatements[this.#statement];
    this.isFirstUse = this.#statement !== '' && known === undefined;
    wire.parse({ text: this.#begin });
    wire.bind({});
    wire.execute({});
    prepare.call(this, wire);
  }
}

/** Errors are those of the driver. */
export class OpenTransaction implements Transaction {
  readonly #client: pg.ClientBase;
  readonly #begin: string;
  #first: FirstQuery | null = null;
  #firstIsDone = false;
  #commit: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;

  constructor(client: pg.ClientBase, begin: string) {
    this.#client = client;
    this.#begin = begin;
  }

  /** A statement was sent: there is something to commit or to roll back. */
  get isOpen(): boolean {
    return this.#first !== null;
  }

  /**
   * After an error: whether the driver may be wrong about what is prepared on the connection, because it takes the answer to the
   * first part of an exchange for that to the statement.
   */
  get isConfused(): boolean {
    return this.#first?.isFirstUse === true && !this.#firstIsDone;
  }

  async run<Row extends pg.QueryResultRow>(
    name: string,
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    if (this.#commit !== null) throw new Error('a statement after the COMMIT of its transaction');
    const query = this.#queryOf({ name, text, values: values as unknown[] });
    const answer = await this.#answerTo(query);
    if (query === this.#first) this.#firstIsDone = true;
    return answer.rows as Row[];
  }

  async finish(last: readonly Statement[]): Promise<pg.QueryResultRow[][]> {
    const [rows] = await Promise.all([runTogether(this, last), this.commit()]);
    return rows;
  }

  /** Behind everything that was sent; repeated calls are one. */
  commit(): Promise<void> {
    this.#commit ??= this.#sendCommit();
    return this.#commit;
  }

  #queryOf(statement: pg.QueryConfig): pg.Query {
    if (this.#first !== null) return new pg.Query(statement);
    this.#first = new FirstQuery(this.#begin, statement);
    return this.#first;
  }

  async #sendCommit(): Promise<void> {
    if (this.#first === null) return;
    const { command } = await this.#answerTo(new pg.Query({ text: 'COMMIT' }));
    if (this.#failure !== null) throw this.#failure.error;
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back');
  }

  async #answerTo(query: pg.Query): Promise<Answer> {
    try {
      return await answerTo(this.#client, query);
    } catch (error) {
      this.#failure ??= { error };
      throw this.#failure.error;
    }
  }
}
