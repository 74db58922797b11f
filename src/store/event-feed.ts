/**
 * The event log, live, for all watchers of this replica. One tail reads new events and keeps the last of them in
 * memory; a watcher that is behind what is kept reads from the database until it has caught up. A watcher holds
 * a position and nothing else, so a slow one costs no memory. While nobody watches, nothing is read.
 */

import { serverStopping } from '../domain/fault.ts';
import { Bell } from './bell.ts';
import type { Database } from './database.ts';
import { type EventBatch, type EventPosition, readEvents, type StoredEvent } from './event-log.ts';

const KEEP = 10_000;
const BATCH = 1_000;
/** Without a notice there is still a look, in case one was lost. */
const POLL_MS = 1_000;
/** A notice can come before the events are settled; then look again soon. */
const UNSETTLED_MS = [2, 5, 10, 25, 50, 100] as const;

export class EventFeed {
  readonly #database: Database;
  readonly #onError: (error: unknown) => void;
  #kept: StoredEvent[] = [];
  /** What is kept is complete from right after here. */
  #from: EventPosition | null = null;
  #settledBelow = 0;
  #watchers = 0;
  readonly #bell = new Bell();
  #tailing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #hinted = false;
  #closed = false;

  constructor(database: Database, onError: (error: unknown) => void) {
    this.#database = database;
    this.#onError = onError;
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

  /** Events after a position, until the signal; each batch also says what is settled. */
  async *follow(after: EventPosition, signal: AbortSignal): AsyncGenerator<EventBatch> {
    this.#watchers += 1;
    let position = after;
    let caughtUp = false;
    try {
      while (!signal.aborted && !this.#closed) {
        const heard = this.#bell.count;
        const batch = this.#fromMemory(position) ?? (await readEvents(this.#database, position, BATCH));
        const last = batch.events.at(-1);
        if (last) position = { xid: last.xid, eventId: last.eventId };
        yield batch;
        if (last) continue;
        this.#from ??= position;
        // Somebody new may know more than the last look told.
        if (!caughtUp) this.#tail();
        caughtUp = true;
        await this.#bell.wait(heard, signal);
      }
      if (this.#closed) throw serverStopping();
    } finally {
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#forget();
    }
  }

  /** Null when it no longer keeps what comes right after that position. */
  #fromMemory(after: EventPosition): EventBatch | null {
    if (this.#from === null || isBefore(after, this.#from)) return null;
    const start = firstAfter(this.#kept, after);
    return { events: this.#kept.slice(start, start + BATCH), settledBelow: this.#settledBelow };
  }

  #poll(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tail(), POLL_MS);
  }

  #tail(): void {
    this.#tailing ??= this.#readNew().finally(() => {
      this.#tailing = null;
      if (this.#watchers === 0) return;
      if (this.#hinted) this.#tail();
      else this.#poll();
    });
  }

  async #readNew(): Promise<void> {
    const expected = this.#hinted;
    this.#hinted = false;
    try {
      for (let tries = 0; ; ) {
        const found = await this.#readOnce();
        if (found >= BATCH) continue;
        const pause = UNSETTLED_MS[tries];
        tries += 1;
        if (found > 0 || !expected || pause === undefined) return;
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    } catch (error) {
      this.#onError(error);
    }
  }

  async #readOnce(): Promise<number> {
    const from = this.#from;
    if (from === null) return 0;
    const last = this.#kept.at(-1);
    const batch = await readEvents(this.#database, last ?? from, BATCH);
    if (this.#from === null) return 0;
    this.#kept.push(...batch.events);
    const excess = this.#kept.length - KEEP;
    if (excess > 0) {
      const dropped = this.#kept.splice(0, excess).at(-1);
      if (dropped) this.#from = { xid: dropped.xid, eventId: dropped.eventId };
    }
    const settled = batch.settledBelow > this.#settledBelow;
    this.#settledBelow = Math.max(this.#settledBelow, batch.settledBelow);
    if (batch.events.length > 0 || settled) this.#bell.ring();
    return batch.events.length;
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#kept = [];
    this.#from = null;
    this.#settledBelow = 0;
  }
}

function isBefore(left: EventPosition, right: EventPosition): boolean {
  return left.xid < right.xid || (left.xid === right.xid && left.eventId < right.eventId);
}

/** The index of the first kept event after a position. */
function firstAfter(events: readonly StoredEvent[], after: EventPosition): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const event = events[middle];
    if (event && !isBefore(after, event)) low = middle + 1;
    else high = middle;
  }
  return low;
}
