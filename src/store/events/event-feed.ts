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
const KEEP = 4_000;
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
  /**
   * What was read at once, by the position before it. Watchers at the same position get the same array, and share what they make of it,
   * also when one is there earlier than the other: a batch never grows by what was read later.
   */
  readonly #batches = new Map<number, readonly StoredEvent[]>();
  /** Reads of what is not kept, by the position before it. */
  readonly #behind = new Map<number, Promise<readonly StoredEvent[]>>();
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
    const waiter = this.#read.waiter(signal);
    let position = after;
    let caughtUp = false;
    try {
      while (!signal.aborted && !this.#closed) {
        const { count } = this.#read;
        const batch = this.#fromMemory(position) ?? (await this.#readBehind(position));
        const last = batch.at(-1);
        if (last) position = last.eventId;
        yield batch;
        if (last) continue;
        // A client that connects now may know of events that the loop has not read yet.
        if (!caughtUp) this.notify();
        caughtUp = true;
        await waiter.wait(count, atLeastEveryMs);
      }
      if (this.#closed) throw serverStopping();
    } finally {
      waiter.close();
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#stopReading();
    }
  }

  /** Null when it no longer keeps what comes right after that position. */
  #fromMemory(after: number): readonly StoredEvent[] | null {
    if (this.#from === null || after < this.#from) return null;
    const known = this.#batches.get(after);
    if (known) return known;
    // A watcher that starts between two events of a batch is in step with the others after the rest of it.
    const start = firstAfter(this.#kept, after);
    let end = start;
    while (end < this.#kept.length) {
      end += 1;
      if (this.#batches.has(this.#kept[end - 1]?.eventId ?? 0)) break;
    }
    return start === end ? NOTHING : this.#kept.slice(start, end);
  }

  /**
   * Watchers at the same position share one read: after a start of the server there are as many as it had before. The first that reads up to
   * the end of the log begins what is kept, also while more is written: otherwise each would read all of it.
   */
  #readBehind(after: number): Promise<readonly StoredEvent[]> {
    const known = this.#behind.get(after);
    if (known) return known;
    const read = readEvents(this.#database, after, BATCH)
      .then((events) => {
        if (this.#from === null && this.#watchers > 0 && events.length < BATCH) {
          this.#from = after;
          if (events.length > 0) this.#keep(events);
        }
        return events;
      })
      .finally(() => this.#behind.delete(after));
    this.#behind.set(after, read);
    return read;
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
    this.#batches.set(this.#kept.at(-1)?.eventId ?? this.#from ?? 0, events);
    this.#kept.push(...events);
    const excess = this.#kept.length - KEEP;
    if (excess > 0) {
      for (const { eventId } of this.#kept.splice(0, excess)) {
        if (this.#from !== null) this.#batches.delete(this.#from);
        this.#from = eventId;
      }
    }
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
