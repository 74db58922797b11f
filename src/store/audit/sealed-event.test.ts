import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { canonicalJson } from '../../audit/canonical-json.ts';
import { leafOf } from '../../audit/chain.ts';
import { Database } from '../database/database.ts';
import { EVENT_COLUMNS, readSealable, readTimedLeaves, timeText } from './sealed-event.ts';

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

interface Row {
  readonly comment: string;
  readonly metadata?: string;
  readonly snapshot?: string | null;
  readonly machineId?: string | null;
}

/** As a version that kept no characters out of events may have written them. Returns the id of the event before. */
async function insert(rows: readonly Row[]): Promise<number> {
  const [last] = await database.run<{ id: number }>(
    '',
    'SELECT coalesce(max(event_id), -9e15) AS id FROM events',
  );
  for (const { comment, metadata = '{}', snapshot = null, machineId = null } of rows)
    await database.run(
      '',
      `INSERT INTO events (kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata, snapshot, machine_id)
       VALUES ('machine', 's', '', 'x', 'system', 'test', $1, $2, $3, $4)`,
      [comment, metadata, snapshot, machineId],
    );
  return Number(last?.id);
}

/** One column after the other, and JSON without a shortcut. */
async function expected(after: number): Promise<string[]> {
  const columns = Object.entries(EVENT_COLUMNS);
  const selected = columns.map(
    ([name, type]) => `${type === 'time' ? timeText(name) : `${name}::text`} AS ${name}`,
  );
  const rows = await database.run<Record<string, string | null>>(
    '',
    `SELECT ${selected.join(', ')} FROM events WHERE event_id > $1 ORDER BY events.event_id`,
    [after],
  );
  return rows.map((row) => {
    const members = columns.flatMap(([name, type]) => {
      const text = row[name] ?? null;
      if (text === null) return [];
      if (type === 'number') return [`"${name}":${text}`];
      return [`"${name}":${type === 'json' ? canonicalJson(text) : JSON.stringify(text)}`];
    });
    return `{${members.join(',')}}`;
  });
}

/** The leaves, which are made without these texts, are those of the same texts. */
async function sealed(after: number): Promise<string[]> {
  const events = await readSealable(database, after, Number.MAX_SAFE_INTEGER, 100);
  const leaves = events.map(({ eventId, at, canonical }) => ({ eventId, at, leaf: leafOf(canonical) }));
  expect(await readTimedLeaves(database, after, 100)).toEqual(leaves);
  return events.map(({ canonical }) => canonical);
}

const PLAIN: Row = { comment: 'plain', metadata: '{"bb": 1, "a": [1.50, true, null]}', machineId: 'm-1' };

test('a text is sealed as it is stored, also one that the event before has', async () => {
  const comments = ['"', '\\', '\\', 'a\tb\nc', '\u007f\u2028', 'größer 🖥', '', '', '\x1d\x1e\x1f'];
  const after = await insert([PLAIN, ...comments.map((comment) => ({ comment })), PLAIN]);
  expect(await sealed(after)).toEqual(await expected(after));
});

test('JSON is sealed in canonical form, whatever spaces and signs its strings have', async () => {
  const after = await insert(
    [
      '[]',
      '["a, b: c", 1.50, [-2e3, null], ""]',
      '["{, }"]',
      '["\\u001f \\" , "]',
      '[{"b": 1, "aa": ", "}]',
      '" , "',
      '{"": {}}',
    ].map((snapshot) => ({ comment: 'c', snapshot })),
  );
  expect(await sealed(after)).toEqual(await expected(after));
});

test('a batch ends at its limit, and is empty after the last event', async () => {
  const after = await insert([PLAIN, PLAIN, PLAIN]);
  const first = await readSealable(database, after, Number.MAX_SAFE_INTEGER, 2);
  expect(first).toHaveLength(2);
  const rest = await readSealable(database, first.at(-1)?.eventId ?? 0, Number.MAX_SAFE_INTEGER, 2);
  expect(rest.map(({ at, actorKind, actorId }) => [at.length, actorKind, actorId])).toEqual([
    [27, 'system', 'test'],
  ]);
  expect(await readSealable(database, rest.at(-1)?.eventId ?? 0, Number.MAX_SAFE_INTEGER, 2)).toEqual([]);
});
