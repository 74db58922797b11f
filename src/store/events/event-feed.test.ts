import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { Database } from '../database/database.ts';
import { appendEvents } from './append-events.ts';
import { EventFeed } from './event-feed.ts';
import type { StoredEvent } from './event-log.ts';

let cloned: TestDatabase;
let database: Database;
let feed: EventFeed;
const watching = new AbortController();

beforeAll(async () => {
  cloned = await cloneDatabase();
  database = new Database({ url: cloned.url, maxConnections: 4, onIdleError: () => {} });
  feed = new EventFeed(database, { passed: () => {}, failed: () => {} });
});
afterAll(async () => {
  watching.abort();
  feed?.close();
  await database?.close();
  await cloned?.drop();
});

async function append(...subjects: readonly string[]): Promise<void> {
  await database.transaction((session) =>
    appendEvents(
      session,
      subjects.map((subject) => ({
        kind: 'audit',
        subject,
        ...{ from: '', to: '', actor: { kind: 'system', id: 'test' }, comment: '', metadata: {} },
        machineId: null,
        operationId: null,
        snapshot: null,
      })),
    ),
  );
  feed.notify();
}

/** The next batch that has events. */
async function next(watcher: AsyncGenerator<readonly StoredEvent[]>): Promise<readonly StoredEvent[]> {
  for (;;) {
    const { value, done } = await watcher.next();
    if (done) throw new Error('the watch ended');
    if (value.length > 0) return value;
  }
}

const subjects = (events: readonly StoredEvent[]) => events.map(({ subject }) => subject);

test('watchers share a batch, also one that comes when more was read', async () => {
  await append('before');
  const early = feed.follow(0, watching.signal);
  const start = (await next(early)).at(-1)?.eventId ?? 0;
  // Caught up: from here on events are kept in memory.
  expect((await early.next()).value).toEqual([]);

  const waiting = next(early);
  await append('a', 'b');
  const first = await waiting;
  expect(subjects(first)).toEqual(['a', 'b']);
  const waitingAgain = next(early);
  await append('c', 'd', 'e');
  const second = await waitingAgain;

  const late = feed.follow(start, watching.signal);
  expect(await next(late)).toBe(first);
  expect(await next(late)).toBe(second);

  const between = feed.follow(first[0]?.eventId ?? 0, watching.signal);
  expect(subjects(await next(between))).toEqual(['b']);
  expect(await next(between)).toBe(second);
  for (const watcher of [early, late, between]) await watcher.return(undefined);
});

test('watchers that start together share what they read, while more is written', async () => {
  const many = Array.from({ length: 8 }, () => feed.follow(0, watching.signal));
  const batches = async () => new Set(await Promise.all(many.map(next)));
  expect((await batches()).size).toBe(1);
  await append('f', 'g');
  expect((await batches()).size).toBe(1);
  await append('h');
  const [last, ...others] = await batches();
  expect(subjects(last ?? [])).toEqual(['h']);
  expect(others).toEqual([]);
  for (const watcher of many) await watcher.return(undefined);
});

test('more than is kept is read again, without a gap and without a repetition', async () => {
  const watcher = feed.follow(0, watching.signal);
  const ahead = feed.follow(0, watching.signal);
  const seen: string[] = [];
  const expected = Array.from({ length: 10_500 }, (_none, n) => `many-${n}`);
  const following = (async () => {
    for (let count = 0; count < expected.length; )
      count += (await next(ahead)).filter(({ subject }) => subject.startsWith('many-')).length;
  })();
  for (let from = 0; from < expected.length; from += 700) await append(...expected.slice(from, from + 700));
  await following;
  while (seen.length < expected.length)
    seen.push(...subjects(await next(watcher)).filter((subject) => subject.startsWith('many-')));
  expect(seen).toEqual(expected);
});
