/**
 * Keepalives that become one statement, batch after batch. It is the coalescer (store/database/coalescer.ts) without a promise
 * for each item, for the one call that comes thousands of times a second; its rules are the same.
 *
 * After a batch was sent, the next one waits for REST_MS unless it is full: in a large fleet a keepalive comes every millisecond, and
 * a statement for each would cost several times as much as a few more rows in one. Agents do not notice the wait.
 */
import type { Keepalive } from '../../domain/agent/agent.ts';
import type { KeepaliveOutcome, KeepaliveStore } from '../../store/agents/keepalive-store.ts';
import { isStatementError, untilNotDeadlocked } from '../../store/database/database.ts';
import { onceEach } from './once-each.ts';

export interface LaneDone {
  readonly stored: (outcome: KeepaliveOutcome) => void;
  readonly failed: (error: unknown) => void;
}

const MAX_BATCH = 500;
const REST_MS = 10;

export class KeepaliveLane {
  readonly #store: Pick<KeepaliveStore, 'keep'>;
  /** What waits, and in the same order whom to answer. */
  #keepalives: Keepalive[] = [];
  #waiting: LaneDone[] = [];
  #isUnderWay = false;
  #isResting = false;
  #isScheduled = false;

  constructor(store: Pick<KeepaliveStore, 'keep'>) {
    this.#store = store;
  }

  submit(keepalive: Keepalive, done: LaneDone): void {
    this.#keepalives.push(keepalive);
    this.#waiting.push(done);
    this.#schedule();
  }

  /** Collects what comes in one turn of the event loop. */
  #schedule(): void {
    if (this.#isScheduled || this.#isUnderWay) return;
    if (this.#isResting && this.#waiting.length < MAX_BATCH) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    const keepalives = this.#keepalives.splice(0, MAX_BATCH);
    const waiting = this.#waiting.splice(0, MAX_BATCH);
    this.#isUnderWay = true;
    if (!this.#isResting) this.#rest();
    void this.#run(keepalives, waiting).finally(() => {
      this.#isUnderWay = false;
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  #rest(): void {
    this.#isResting = true;
    setTimeout(() => {
      this.#isResting = false;
      if (this.#waiting.length > 0) this.#schedule();
    }, REST_MS);
  }

  async #run(keepalives: readonly Keepalive[], waiting: readonly LaneDone[]): Promise<void> {
    let outcomes: readonly KeepaliveOutcome[];
    try {
      outcomes = await onceEach(keepalives, (unique) => untilNotDeadlocked(() => this.#store.keep(unique)));
    } catch (error) {
      await this.#refused(error, keepalives, waiting);
      return;
    }
    waiting.forEach((done, index) => {
      try {
        done.stored(outcomes[index] as KeepaliveOutcome);
      } catch (error) {
        // Of this caller alone: the others still get their answers.
        done.failed(error);
      }
    });
  }

  /** One that the database refuses fails alone. */
  async #refused(
    error: unknown,
    keepalives: readonly Keepalive[],
    waiting: readonly LaneDone[],
  ): Promise<void> {
    if (waiting.length > 1 && isStatementError(error)) {
      for (const [index, done] of waiting.entries())
        await this.#run([keepalives[index] as Keepalive], [done]);
      return;
    }
    for (const done of waiting) done.failed(error);
  }
}
