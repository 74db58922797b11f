import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import type { NewEvent } from '../../domain/event.ts';
import { Database } from '../database/database.ts';
import { appendEvents } from './append-events.ts';
import { lastEventId, readEvents } from './event-log.ts';

let cloned: TestDatabase;
let database: Database;

beforeAll(async () => {
  cloned = await cloneDatabase();
  database = new Database({ url: cloned.url, maxConnections: 2, onIdleError: () => {} });
});
afterAll(async () => {
  await database?.close();
  await cloned?.drop();
});

const EVENT: NewEvent = {
  kind: 'audit',
  subject: 's',
  from: '',
  to: '',
  actor: { kind: 'system', id: 'test' },
  comment: '',
  metadata: {},
  machineId: null,
  operationId: null,
  snapshot: null,
};

/** As they are read after they were written. */
async function written(events: readonly NewEvent[]) {
  const before = await database.transaction(lastEventId);
  await database.transaction((session) => appendEvents(session, events));
  return database.transaction((session) => readEvents(session, before, events.length + 1));
}

/** What PostgreSQL can't store, and what separates values, are replaced. */
const REPLACED = ['\0', '\x1d', '\x1e', '\x1f', '\ud800', '\udfff'];
const storable = (text: string) =>
  [...text].map((character) => (REPLACED.includes(character) ? '\ufffd' : character)).join('');

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom(
    '',
    '\\',
    '"',
    'NULL',
    '{}',
    'a\nb\tc',
    '\x1d',
    'x\x1ey',
    '\x1f',
    '\0',
    '\ud800',
    "it's",
    '%',
  ),
);
const optional = fc.option(fc.constantFrom('m-1', 'x', ''));

test('every text, JSON and absent value is read as it was written, in order', async () => {
  const event = fc
    .record({
      subject: anyText,
      from: anyText,
      to: anyText,
      comment: anyText,
      actorId: anyText,
      machineId: optional,
      operationId: optional,
      metadata: fc.dictionary(
        fc.constantFrom('a', 'b', 'c\x1e'),
        fc.oneof(anyText.map(storable), fc.integer()),
      ),
      address: optional,
    })
    .map(({ actorId, address, ...rest }): NewEvent => {
      const origin = { address: address ?? '127.0.0.1', requestId: 'r', via: 'token' } as const;
      return {
        ...EVENT,
        ...rest,
        actor: { kind: 'admin', id: actorId, ...(address !== null && { origin }) },
      };
    });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 8 }), async (events) => {
      const read = await written(events);
      expect(read).toHaveLength(events.length);
      read.forEach((found, index) => {
        const { subject, from, to, comment, actor, metadata, machineId, operationId } =
          events[index] ?? EVENT;
        expect(found).toMatchObject({
          kind: 'audit',
          subject: storable(subject),
          from: storable(from),
          to: storable(to),
          comment: storable(comment),
          actorId: storable(actor.id),
          machineId,
          operationId,
          address: actor.origin?.address ?? null,
        });
        expect(JSON.parse(found.metadata)).toEqual(JSON.parse(JSON.stringify(metadata)));
      });
    }),
    { numRuns: 60 },
  );
});

test('changes and the progress of an operation come back', async () => {
  const snapshot = {
    status: 'running',
    current: 0,
    error: null,
    waitingFor: 'the\x1fmachine',
    cancelRequested: false,
    startedAt: '2026-11-18T10:00:00.000Z',
    finishedAt: null,
    steps: [
      { state: 'running', attempts: 1, startedAt: null, finishedAt: null, message: 'a "b"', progress: 5 },
      { state: 'waiting', attempts: 0, startedAt: null, finishedAt: null, message: '', progress: 0 },
    ],
  } as const;
  const changes = [{ field: 'labels.a', before: '', after: 'x\ny' }];
  const [event] = await written([{ ...EVENT, snapshot, changes }]);
  expect(event?.snapshot).toEqual(snapshot);
  expect(event?.changes).toEqual(changes);
});
