/**
 * Follows the log of one operation: every stored line from a position on, then new ones as they are stored, and
 * the end when the operation has ended and nothing is left. Any replica can follow what any other writes.
 */
import { serverStopping } from '../domain/fault.ts';
import { isActive } from '../domain/job-status.ts';
import { Bell } from './bell.ts';
import type { Database } from './database.ts';
import { findOperation, type LogPosition, readLog, type StoredLine } from './operations.ts';

const BATCH = 500;
const POLL_MS = 1_000;

export class LogFollower {
  readonly #database: Database;
  readonly #bell = new Bell();
  #closed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Somebody stored lines, or an operation moved. */
  hint(): void {
    this.#bell.ring();
  }

  /** Ends every stream, so that a stopping server does not wait for its clients. */
  close(): void {
    this.#closed = true;
    this.hint();
  }

  async *follow(
    operationId: string,
    after: LogPosition,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredLine[]> {
    let position = after;
    while (!signal.aborted && !this.#closed) {
      const heard = this.#bell.count;
      // The operation first: lines are stored before the state that follows them.
      const operation = await findOperation(this.#database, operationId);
      const ended = operation === null || !isActive(operation.status);
      const lines = await readLog(this.#database, operationId, position, BATCH);
      const last = lines.at(-1);
      if (last) {
        position = { epoch: last.epoch, line: last.line };
        yield lines;
      }
      if (lines.length === BATCH) continue;
      if (ended) return;
      await this.#bell.wait(heard, signal, POLL_MS);
    }
    if (this.#closed) throw serverStopping();
  }
}
