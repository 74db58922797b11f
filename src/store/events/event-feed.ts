/**
 * The event log, live, for all watchers of this replica. One tail reads new events and keeps the last of them in
 * memory; a watcher that is behind what is kept reads from the database until it has caught up. A watcher holds
 * a position and nothing else, so a slow one costs no memory. While nobody watches, nothing is read.
 */

import { serverStopping } from '../../domain/error/fault.ts';
import { FailurePause, type LoopWatch } from '../../engine/background-loop.ts';
import type { Database } from '../database/database.ts';
import { Signal } from '../database/signal.ts';
import { readEvents, type StoredEvent } from './event-log.ts';

/** The loop, as the log and /readyz name it. */
const READING = 'reading events';
const KEEP = 10_000;
const BATCH = 1_000;
/** Without a notice there is still a look, in case one was lost. */
const POLL_MS = 1_000;

export class EventFeed {
  readonly #database: Database;
  readonly #watch: LoopWatch;
  readonly #pause = new FailurePause();
  #kept: StoredEvent[] = [];
  /** What is kept is complete from right after here. */
  #from: number | null = null;
  #watchers = 0;
  readonly #bell = new Signal();
  #tailing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #hinted = false;
  #closed = false;

  constructor(database: Database, watch: LoopWatch) {
    this.#database = database;
    this.#watch = watch;
  }

  /** Somebody committed events. */
  hint(): void {
    this.#hinted = true;
    if (this.#watchers > 0) this.#tail();
  }

  /** Ends every watch, so that a stopping server does not wait for its clients. */
  close(): void {
    this.#closed = true;
    this.#bell.ring();
  }

  /**
   * Events after an id, until the signal; an empty batch means that there are no more for now. With a time, there is a
   * batch at least that often.
   */
  async *follow(
    after: number,
    signal: AbortSignal,
    atLeastEveryMs?: number,
  ): AsyncGenerator<readonly StoredEvent[]> {
    this.#watchers += 1;
    let position = after;
    let caughtUp = false;
    try {
      while (!signal.aborted && !this.#closed) {
        const heard = this.#bell.count;
        const batch = this.#fromMemory(position) ?? (await readEvents(this.#database, position, BATCH));
        const last = batch.at(-1);
        if (last) position = last.eventId;
        yield batch;
        if (last) continue;
        this.#from ??= position;
        // Somebody new may know more than the last look told.
        if (!caughtUp) this.#tail();
        caughtUp = true;
        await this.#bell.wait(heard, signal, atLeastEveryMs);
      }
      if (this.#closed) throw serverStopping();
    } finally {
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#forget();
    }
  }

  /** Null when it no longer keeps what comes right after that position. */
  #fromMemory(after: number): readonly StoredEvent[] | null {
    if (this.#from === null || after < this.#from) return null;
    const start = firstAfter(this.#kept, after);
    return this.#kept.slice(start, start + BATCH);
  }

  #poll(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tail(), afterMs);
  }

  #tail(): void {
    this.#tailing ??= this.#readNew().then((pauseMs) => {
      this.#tailing = null;
      if (this.#watchers === 0) return;
      if (this.#hinted && pauseMs === 0) this.#tail();
      else this.#poll(pauseMs || POLL_MS);
    });
  }

  /** Returns how long to wait because it failed; 0 when it did not. */
  async #readNew(): Promise<number> {
    this.#hinted = false;
    try {
      while ((await this.#readOnce()) === BATCH);
      this.#pause.passed();
      this.#watch.passed(READING);
      return 0;
    } catch (error) {
      this.#watch.failed(READING, error);
      return this.#pause.failed();
    }
  }

  async #readOnce(): Promise<number> {
    const from = this.#from;
    if (from === null) return 0;
    const events = await readEvents(this.#database, this.#kept.at(-1)?.eventId ?? from, BATCH);
    // Everybody may have left meanwhile.
    if (this.#from === null || events.length === 0) return 0;
    this.#kept.push(...events);
    const excess = this.#kept.length - KEEP;
    if (excess > 0) this.#from = this.#kept.splice(0, excess).at(-1)?.eventId ?? this.#from;
    this.#bell.ring();
    return events.length;
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // Nothing is read any more, so nothing fails.
    this.#pause.passed();
    this.#watch.passed(READING);
    this.#kept = [];
    this.#from = null;
  }
}

/** The index of the first kept event after an id. */
function firstAfter(events: readonly StoredEvent[], after: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle]?.eventId ?? 0) <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}
