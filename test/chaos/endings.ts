/** Tells when operations end, with one query for all of them, and notices when none does any more. */
import { setTimeout as delay } from 'node:timers/promises';
import type { JobStatus } from '../../src/domain/job-status.ts';
import type { StormDatabase } from './storm-database.ts';

const LOOK_MS = 40;

export class Endings {
  count = 0;
  readonly #database: StormDatabase;
  readonly #waiting = new Map<string, (status: JobStatus) => void>();
  readonly #stalled = new AbortController();
  readonly #watch: Promise<void>;
  readonly #stallMs: number;
  #closed = false;

  constructor(database: StormDatabase, stallMs: number) {
    this.#database = database;
    this.#stallMs = stallMs;
    this.#watch = this.#look();
  }

  /** Aborted when no operation has ended for a very long time. */
  get stalled(): AbortSignal {
    return this.#stalled.signal;
  }

  of(operationId: string): Promise<JobStatus> {
    return new Promise((resolve, reject) => {
      const stop = () => reject(this.#stalled.signal.reason);
      if (this.#stalled.signal.aborted) return stop();
      this.#stalled.signal.addEventListener('abort', stop, { once: true });
      this.#waiting.set(operationId, (status) => {
        this.#stalled.signal.removeEventListener('abort', stop);
        resolve(status);
      });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#watch;
  }

  async #look(): Promise<void> {
    let lastEnding = performance.now();
    while (!this.#closed) {
      await delay(LOOK_MS);
      if (this.#waiting.size === 0) continue;
      const ended = await this.#database.rows<{ id: string; status: JobStatus }>(
        `SELECT operation_id AS id, status FROM operations WHERE operation_id = ANY($1)
         AND status NOT IN ('pending', 'running', 'compensating')`,
        [[...this.#waiting.keys()]],
      );
      for (const { id, status } of ended) {
        this.count += 1;
        this.#waiting.get(id)?.(status);
        this.#waiting.delete(id);
      }
      if (ended.length > 0) lastEnding = performance.now();
      else if (performance.now() - lastEnding > this.#stallMs) {
        this.#stalled.abort(new Error(`no operation has ended for ${this.#stallMs / 1000} s`));
        return;
      }
    }
  }
}
