/**
 * Follows the log of one operation: every stored line from a position on, then new ones as they are stored, and
 * the end when the operation has ended and nothing is left. Any replica can follow what any other writes.
 */
import { serverStopping } from '../../../domain/error/fault.ts';
import { isActive } from '../../../domain/operation/operation-status.ts';
import { Signal } from '../../../time/signal.ts';
import type { Database } from '../../database/database.ts';
import { findOperation } from '../find-operations.ts';
import { type ReadUpTo, withGaps } from './log-gaps.ts';
import { type LogPosition, partOfLog, readLog, type StoredLine } from './read-log.ts';

const BATCH = 500;
const POLL_MS = 1_000;

export class LogFollower {
  readonly #database: Database;
  readonly #changes = new Signal();
  #closed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Lines were stored, or an operation changed. */
  notify(): void {
    this.#changes.notify();
  }

  /** Ends every stream, so that a stopping server does not wait for its clients. */
  close(): void {
    this.#closed = true;
    this.notify();
  }

  /** An empty batch means that there are no more lines for now. There is a batch at least every second. */
  async *follow(
    operationId: string,
    after: LogPosition,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredLine[]> {
    let last: ReadUpTo = { ...after, part: await partOfLog(this.#database, operationId, after) };
    while (!signal.aborted && !this.#closed) {
      const { count } = this.#changes;
      // The operation first: lines are stored before the state that follows them.
      const operation = await findOperation(this.#database, operationId, null);
      const ended = operation === null || !isActive(operation.status);
      const lines = await readLog(this.#database, operationId, last, BATCH);
      const newest = lines.at(-1);
      yield newest ? withGaps(last, lines) : [];
      if (newest) last = { epoch: newest.epoch, line: newest.line, part: newest.tail ? 'tail' : 'head' };
      if (lines.length === BATCH) continue;
      if (ended) return;
      await this.#changes.wait(count, signal, POLL_MS);
    }
    if (this.#closed) throw serverStopping();
  }
}
