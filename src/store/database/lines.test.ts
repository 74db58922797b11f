import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { Database } from './database.ts';
import { Lines } from './lines.ts';

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

const ROWS = new Lines({
  word: 'text',
  sent: 'exact',
  data: 'jsonb',
  small: 'integer',
  large: 'bigint',
  share: 'float8',
  done: 'boolean',
  at: 'timestamptz',
});

/** As PostgreSQL reads them. */
const read = (rows: Parameters<typeof ROWS.text>[0]) =>
  database.run('', `SELECT * FROM ${ROWS.rows('$1')} AS i ORDER BY n`, [ROWS.text(rows)]);

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom('', '\\', '"', 'NULL', '{}', 'a\nb\tc', "it's", '%'),
);
const separated = fc.constantFrom('\x1d', 'x\x1ey', '\x1f', '\x1d\x1e\x1f');
const orNone = <T>(value: fc.Arbitrary<T>) => fc.option(value);

test('every value is read as it was written, and rows are in their order', async () => {
  const row = fc.record({
    word: orNone(anyText),
    sent: orNone(fc.oneof(anyText, separated)),
    data: orNone(fc.dictionary(anyText, fc.oneof(anyText, separated, fc.integer()))),
    small: orNone(fc.integer()),
    large: orNone(fc.maxSafeInteger()),
    share: orNone(fc.double({ noDefaultInfinity: true, noNaN: true }).map((share) => share + 0)),
    done: orNone(fc.boolean()),
    at: orNone(fc.date({ min: new Date('1900-01-01'), max: new Date('2200-01-01'), noInvalidDate: true })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 5 }), async (rows) => {
      const found = await read(rows);
      expect(found).toEqual(rows.map((sent, index) => ({ n: index + 1, ...sent })));
    }),
    { numRuns: 60 },
  );
});

test('what separates values is replaced in a text, and kept in an exact one', async () => {
  const odd = 'a\x1db\x1ec\x1fd';
  const [row] = await read([
    { word: odd, sent: odd, data: { odd }, small: 1, large: 1, share: 1, done: true, at: null },
  ]);
  expect(row).toMatchObject({ word: 'a\ufffdb\ufffdc\ufffdd', sent: odd, data: { odd } });
});

test('what PostgreSQL can not store is replaced', async () => {
  const odd = 'a\0b\ud800c';
  const [row] = await read([
    { word: odd, sent: odd, data: { odd }, small: 1, large: 1, share: 1, done: true, at: null },
  ]);
  const stored = 'a\ufffdb\ufffdc';
  expect(row).toMatchObject({ word: stored, sent: stored, data: { odd: stored } });
});

test('a time may be a text', async () => {
  const at = '2026-11-19T01:02:03.004Z';
  const row = { word: '', sent: '', data: {}, small: 0, large: 0, share: 0, done: false };
  expect(await read([{ ...row, at }])).toMatchObject([{ at: new Date(at) }]);
});

test('no rows are none', async () => {
  expect(await read([])).toEqual([]);
});
