/** Reports when operations end, with one query for all of them, and notices when none does any more. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OperationStatus } from '../../src/domain/operation/operation-status.ts';
import type { Rows } from './storm-database.ts';

const POLL_MS = 40;

interface Waiting {
  readonly resolve: (status: OperationStatus) => void;
  readonly reject: (reason: unknown) => void;
}

export class Endings {
  count = 0;
  readonly #database: Rows;
  readonly #waiting = new Map<string, Waiting>();
  readonly #stalled = new AbortController();
  readonly #watch: Promise<void>;
  readonly #stallMs: number;
  #closed = false;

  constructor(database: Rows, stallMs: number) {
    this.#database = database;
    this.#stallMs = stallMs;
    this.#watch = this.#poll();
  }

  /** Aborted when no operation has ended for a very long time. */
  get stalled(): AbortSignal {
    return this.#stalled.signal;
  }

  of(operationId: string): Promise<OperationStatus> {
    this.#stalled.signal.throwIfAborted();
    return new Promise((resolve, reject) => this.#waiting.set(operationId, { resolve, reject }));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#watch;
  }

  async #poll(): Promise<void> {
    let lastEnding = performance.now();
    while (!this.#closed) {
      await sleep(POLL_MS);
      const ended = this.#waiting.size > 0 ? await this.#endedNow() : [];
      for (const { id, status } of ended) {
        this.count += 1;
        this.#waiting.get(id)?.resolve(status);
        this.#waiting.delete(id);
      }
      if (ended.length > 0) lastEnding = performance.now();
      else if (performance.now() - lastEnding > this.#stallMs) return this.#stall();
    }
  }

  #endedNow(): Promise<{ id: string; status: OperationStatus }[]> {
    return this.#database.rows(
      `SELECT operation_id AS id, status FROM operations
       WHERE operation_id = ANY($1) AND status NOT IN ('pending', 'running', 'compensating')`,
      [[...this.#waiting.keys()]],
    );
  }

  #stall(): void {
    const reason = new Error(`no operation has ended for ${this.#stallMs / 1000} s`);
    this.#stalled.abort(reason);
    for (const { reject } of this.#waiting.values()) reject(reason);
  }
}
