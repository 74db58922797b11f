/**
 * Refused and failed calls as events. Callers need no account to be refused, so everything is bounded: calls of one identity,
 * method, reason and address are one entry, which becomes an event with their number after a second, and while they go on only after
 * ten seconds and then once a minute. When there are too many different ones, the others are counted together.
 */
import type { Actor } from '../../domain/actor.ts';
import type { NewEvent } from '../../domain/event.ts';
import { BackgroundLoop, type LoopWatch } from '../../time/repeat-until-stopped.ts';
import type { Database } from '../database/database.ts';
import { appendEvents } from './append-events.ts';
import { changeEvent } from './record-change.ts';

export interface RefusedCall {
  /** With its origin. Not known: an anonymous one. */
  readonly actor: Actor;
  /** `package.Service/Method`, or `METHOD /path` of a route. */
  readonly method: string;
  /** A row of the registry of errors. */
  readonly reason: string;
}

interface Entry {
  readonly call: RefusedCall;
  count: number;
  first: Date;
  last: Date;
  /** Index into WINDOWS_MS. */
  window: number;
  dueAt: number;
}

export interface RefusalLogOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
  readonly now: () => Date;
}

const EVERY_MS = 500;
const WINDOWS_MS = [0, 10_000, 60_000] as const;
const MAX_ENTRIES = 1_000;
const MAX_EVENTS = 200;
const MAX_TEXT = 200;
const OTHERS: RefusedCall = {
  actor: { kind: 'anonymous', id: 'many' },
  method: 'various',
  reason: 'TOO_MANY_DIFFERENT',
};

export class RefusalLog {
  readonly #options: RefusalLogOptions;
  readonly #loop: BackgroundLoop;
  readonly #entries = new Map<string, Entry>();

  constructor(options: RefusalLogOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'recording refused calls',
      everyMs: EVERY_MS,
      pass: async () => ((await this.#flush(this.#options.now().getTime())) ? 'passed' : 'idle'),
      watch: options.watch,
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** What was counted is stored, whether it is due or not. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    while (await this.#flush(Number.POSITIVE_INFINITY).catch(() => false));
  }

  record(call: RefusedCall): void {
    const { actor, method, reason } = call;
    const key = JSON.stringify([actor.kind, actor.id, actor.origin?.address, method, reason]);
    const at = this.#options.now();
    const isKnown = this.#entries.has(key) || this.#entries.size < MAX_ENTRIES;
    const entry = isKnown ? this.#entryOf(key, call, at) : this.#entryOf('', OTHERS, at);
    entry.count += 1;
    entry.last = at;
    if (entry.count === 1) entry.first = at;
  }

  #entryOf(key: string, call: RefusedCall, at: Date): Entry {
    const known = this.#entries.get(key);
    if (known) return known;
    const entry = { call, count: 0, first: at, last: at, window: 0, dueAt: 0 };
    this.#entries.set(key, entry);
    return entry;
  }

  /** False: there was nothing to store. */
  async #flush(now: number): Promise<boolean> {
    const due = [...this.#entries].filter(([, { dueAt }]) => dueAt <= now);
    const counted = due.filter(([, { count }]) => count > 0).slice(0, MAX_EVENTS);
    const events = counted.map(([, entry]) => eventOf(entry));
    // An entry that stayed quiet for its time starts from the beginning when it comes back.
    for (const [key, { count }] of due) if (count === 0) this.#entries.delete(key);
    if (events.length === 0) return false;
    const counts = counted.map(([, { count }]) => count);
    await appendEvents(this.#options.database, events);
    counted.forEach(([, entry], index) => {
      // What came while the events were stored is counted for the next one.
      entry.count -= counts[index] ?? 0;
      entry.first = entry.last;
      entry.window = Math.min(entry.window + 1, WINDOWS_MS.length - 1);
      entry.dueAt = this.#options.now().getTime() + (WINDOWS_MS[entry.window] ?? 0);
    });
    return true;
  }
}

function eventOf({ call, count, first, last }: Entry): NewEvent {
  const times = count === 1 ? {} : { first_at: first.toISOString(), last_at: last.toISOString() };
  return changeEvent({
    kind: 'access',
    subject: storable(call.method),
    to: storable(call.reason),
    actor: call.actor,
    metadata: { count, ...times },
  });
}

/** A path is the client's text: it is cut, and characters that can't be stored or shown are replaced. */
function storable(text: string): string {
  return text.slice(0, MAX_TEXT).replace(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, '?');
}
