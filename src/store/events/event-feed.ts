/**
 * The event log, live, for all watchers of this replica. One loop reads new events and keeps the last of them in memory; a
 * watcher that is behind what is kept reads from the database until it has caught up. A watcher holds a position and
 * nothing else, so a slow one costs no memory. Without watchers nothing is read. Its connections are its own: events that wait
 * for a connection behind the writes of a busy engine would be as late as those are many.
 */

import { serverStopping } from '../../domain/error/fault.ts';
import { type LoopOptions, type LoopWatch, repeatUntilStopped } from '../../time/repeat-until-stopped.ts';
import { Signal } from '../../time/signal.ts';
import type { Database } from '../database/database.ts';
import { readEvents, type StoredEvent } from './event-log.ts';

/** The loop, as the log and /readyz name it. */
const READING = 'reading events';
const KEEP = 10_000;
const BATCH = 1_000;
const NOTHING: readonly StoredEvent[] = [];
/** Events are also read without a notification, in case one was lost. */
const POLL_MS = 1_000;

export class EventFeed {
  readonly #database: Database;
  readonly #watch: LoopWatch;
  /** For the loop: there may be events to read. */
  readonly #committed = new Signal();
  /** For the watchers: events were read. */
  readonly #read = new Signal();
  #kept: StoredEvent[] = [];
  /** What comes after a position, by the position. Watchers at the same one get the same array, and share what they make of it. */
  readonly #batches = new Map<number, readonly StoredEvent[]>();
  /** What is kept is complete from right after this id. */
  #from: number | null = null;
  #watchers = 0;
  #reading: AbortController | null = null;
  #closed = false;

  constructor(database: Database, watch: LoopWatch) {
    this.#database = database;
    this.#watch = watch;
  }

  /** Events were committed, by any replica. */
  notify(): void {
    this.#committed.notify();
  }

  /** Ends every watch, so that a stopping server does not wait for its clients. */
  close(): void {
    this.#closed = true;
    this.#read.notify();
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
    this.#reading ??= this.#startReading();
    let position = after;
    let caughtUp = false;
    try {
      while (!signal.aborted && !this.#closed) {
        const { count } = this.#read;
        const batch = this.#fromMemory(position) ?? (await readEvents(this.#database, position, BATCH));
        const last = batch.at(-1);
        if (last) position = last.eventId;
        yield batch;
        if (last) continue;
        this.#from ??= position;
        // A client that connects now may know of events that the loop has not read yet.
        if (!caughtUp) this.notify();
        caughtUp = true;
        await this.#read.wait(count, signal, atLeastEveryMs);
      }
      if (this.#closed) throw serverStopping();
    } finally {
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#stopReading();
    }
  }

  /** Null when it no longer keeps what comes right after that position. */
  #fromMemory(after: number): readonly StoredEvent[] | null {
    if (this.#from === null || after < this.#from) return null;
    const known = this.#batches.get(after);
    if (known) return known;
    const start = firstAfter(this.#kept, after);
    if (start === this.#kept.length) return NOTHING;
    const batch = this.#kept.slice(start, start + BATCH);
    this.#batches.set(after, batch);
    return batch;
  }

  #startReading(): AbortController {
    const reading = new AbortController();
    const loop: LoopOptions = {
      name: READING,
      everyMs: POLL_MS,
      pass: (stop) => this.#readNew(stop),
      watch: this.#watch,
      wake: this.#committed,
    };
    void repeatUntilStopped(loop, reading.signal);
    return reading;
  }

  #stopReading(): void {
    this.#reading?.abort();
    this.#reading = null;
    // Nothing is read any more, so nothing fails.
    this.#watch.passed(READING);
    this.#kept = [];
    this.#batches.clear();
    this.#from = null;
  }

  async #readNew(stop: AbortSignal): Promise<void> {
    for (;;) {
      const from = this.#from;
      if (from === null) return;
      const events = await readEvents(this.#database, this.#kept.at(-1)?.eventId ?? from, BATCH);
      if (stop.aborted || events.length === 0) return;
      this.#keep(events);
      if (events.length < BATCH) return;
    }
  }

  #keep(events: readonly StoredEvent[]): void {
    this.#batches.clear();
    this.#kept.push(...events);
    const excess = this.#kept.length - KEEP;
    if (excess > 0) this.#from = this.#kept.splice(0, excess).at(-1)?.eventId ?? this.#from;
    this.#read.notify();
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
