/** The hash chain over the event log of a real server: what is done to the log, in an export or in the database, is found. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { auditKeyOf, newKeyPem } from '../../src/audit/audit-key.ts';
import { canonicalJson } from '../../src/audit/canonical-json.ts';
import {
  blockHash,
  type Checkpoint,
  checkpointText,
  type Leaf,
  leafOf,
  NO_HASH,
  packLeaves,
  rootOf,
} from '../../src/audit/chain.ts';
import { ChainVerifier, type VerifyReport } from '../../src/audit/chain-verifier.ts';
import { type ExportRecord, readRecord, recordLine } from '../../src/audit/export-record.ts';
import { EVENT_COLUMNS } from '../../src/store/audit/sealed-event.ts';
import { fresh } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { addToSecurityTable } from '../security/security-table.ts';

let server: TestServer;
let lines: string[];

/** Many events at once, with what makes canonical forms hard: keys out of order, numbers, quotes, text of all the world. */
async function addEvents(count: number): Promise<void> {
  await server.sql(
    `WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(7146204))
     INSERT INTO events (kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata, machine_id, changes)
     SELECT 'machine', 'm-' || n, 'a', 'b', 'operator', CASE WHEN n % 7 = 0 THEN 'alice' ELSE 'bob' END,
       'é "q" \\ ' || n || chr(8232), jsonb_build_object('z', n, 'a', jsonb_build_array(1.10, -0, 12345678901234567890), 'ü', null),
       'm-' || n, CASE WHEN n % 3 = 0 THEN jsonb_build_array(jsonb_build_object('field', 'f', 'after', 'y', 'before', 'x')) END
     FROM locked, generate_series(1, $1) AS n`,
    [count],
  );
  await server.sql(`SELECT pg_notify('ingot', 'events')`);
}

async function sealed(): Promise<void> {
  await until(
    () =>
      server.sql<{ open: number }>(
        `SELECT count(*)::int AS open FROM events WHERE event_id > (SELECT max(last_event_id) FROM audit_blocks)`,
      ),
    ([row]) => row?.open === 0,
  );
}

async function exported(request: Parameters<TestServer['admin']['exportAudit']>[0] = {}): Promise<string[]> {
  const all: string[] = [];
  for await (const { lines: some } of server.admin.exportAudit(request)) all.push(...some);
  return all;
}

function verified(given: readonly string[], remembered: Checkpoint | null = null): VerifyReport {
  const verifier = new ChainVerifier({ trustedKeys: [keyId], remembered });
  for (const line of given) verifier.take(line);
  return verifier.finish();
}

let keyId: string;

beforeAll(async () => {
  server = await startTestServer();
  ({ keyId } = await server.admin.getAuditKey({}));
  // Many blocks, each of which is verified by itself below.
  for (let batch = 0; batch < 12; batch += 1) {
    await addEvents(100);
    await sealed();
  }
  await server.admin.createPool({ name: fresh('pool') });
  await sealed();
  lines = await exported();
});
afterAll(() => server?.stop());

const kinds = (report: VerifyReport) => [...new Set(report.findings.map(({ kind }) => kind))].toSorted();
const isOf = (type: string) => (line: string) => line.startsWith(`{"type":"${type}"`);
const eventLines = () => lines.flatMap((line, place) => (isOf('event')(line) ? [place] : []));

describe('an export of the whole log', () => {
  test('verifies, and has every event', async () => {
    const report = verified(lines);
    expect(report.findings).toEqual([]);
    const [stored] = await server.sql<{ count: number }>('SELECT count(*)::int AS count FROM events');
    expect(report).toMatchObject({ events: stored?.count, unsealed: 0, leftOut: 0, keyIds: [keyId] });
    expect(report.blocks).toBeGreaterThan(1);
    expect(report.checkpoint?.events).toBe(report.events);
  });

  test('has every column of every event', async () => {
    const columns = await server.sql<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'events' ORDER BY 1`,
    );
    expect(columns.map(({ name }) => name)).toEqual(Object.keys(EVENT_COLUMNS).toSorted());
    expect(Object.keys(EVENT_COLUMNS)).toEqual(Object.keys(EVENT_COLUMNS).toSorted());
  });

  test('verifies in another format of the same JSON', () => {
    const again = lines.map((line) => {
      const { event, ...rest } = JSON.parse(line) as Record<string, unknown>;
      // A parser changes some numbers, so events keep their text.
      if (event === undefined) return JSON.stringify(rest, null, 1).replaceAll('\n', ' ');
      return line.replaceAll(':', ' : ').includes('" : ')
        ? line.replace('{"type":"event"', '{ "type" : "event"')
        : line;
    });
    expect(verified(again).findings).toEqual([]);
  });

  test('1,000 events are changed in turn, and 1,000 are found by their ids', {
    tags: ['extended'],
    timeout: 300_000,
  }, () => {
    const places = eventLines().slice(0, 1_000);
    expect(places).toHaveLength(1_000);
    let found = 0;
    for (const [turn, place] of places.entries()) {
      const line = lines[place] ?? '';
      const { event } = JSON.parse(line) as { event: Record<string, unknown> };
      const columns = Object.keys(event).filter((name) => name !== 'event_id');
      const column = columns[turn % columns.length] ?? '';
      const block = blockAround(place);
      const changed = changedIn(line, column);
      expect(canonicalJson(changed)).not.toBe(canonicalJson(line));
      const report = verified(block.map((at) => (at === place ? changed : (lines[at] ?? ''))));
      const hit = report.findings.find(({ kind }) => kind === 'changed');
      if (hit?.eventId === event.event_id) found += 1;
    }
    const what = 'events changed in turn, each in one of its columns, and found by their ids';
    addToSecurityTable({ part: 'audit', what, cases: 1_000, deviations: 1_000 - found });
    expect(found).toBe(1_000);
  });

  test.each([
    ['removed', 'removed', (all: string[], at: number) => all.toSpliced(at, 1)],
    [
      'inserted',
      'inserted',
      (all: string[], at: number) => all.toSpliced(at, 0, withId(all[at], 999_999_999)),
    ],
    ['repeated', 'inserted', (all: string[], at: number) => all.toSpliced(at, 0, all[at] ?? '')],
    [
      'moved',
      'reordered',
      (all: string[], at: number) => all.toSpliced(at, 2, all[at + 1] ?? '', all[at] ?? ''),
    ],
    [
      'given another id',
      'inserted',
      (all: string[], at: number) => all.toSpliced(at, 1, withId(all[at], 999_999_999)),
    ],
  ])('an event that is %s is found', (_what, kind, tamper) => {
    for (const at of [120, 333, 512, 1_150].map((nth) => eventLines()[nth] ?? 0)) {
      expect(kinds(verified(tamper([...lines], at)))).toContain(kind);
    }
  });

  test('a block that is removed, changed or moved is found, and so is a missing end', () => {
    const blocks = lines.flatMap((line, place) => (isOf('block')(line) ? [place] : []));
    const [first = 0, second = 0] = blocks;
    expect(kinds(verified(lines.filter((_line, place) => place < first || place >= second)))).toContain(
      'block',
    );
    const rooted = lines.with(first, (lines[first] ?? '').replace(/"root":"./, '"root":"x'));
    expect(kinds(verified(rooted))).toContain('block');
    expect(kinds(verified(lines.slice(0, -1)))).toEqual(['truncated']);
    expect(kinds(verified(lines.filter((line) => !isOf('checkpoint')(line))))).toEqual(['signature']);
    expect(kinds(verified([...lines, 'not JSON']))).toEqual(['malformed']);
  });

  test('a chain that was computed again after a change is found, because no one else has the key', () => {
    const forged = resealed(lines, auditKeyOf(newKeyPem()));
    expect(kinds(verified(forged))).toEqual(expect.arrayContaining(['key']));
    const unsigned = resealed(lines, null);
    expect(kinds(verified(unsigned))).toEqual(['block', 'signature']);
    // Who trusts the first key that comes along sees its fingerprint and nothing else.
    const verifier = new ChainVerifier({ trustedKeys: [], remembered: null });
    for (const line of forged.filter((one) => !isOf('head')(one))) verifier.take(line);
    expect(verifier.finish()).toMatchObject({ found: 0, isKeyPinned: false });
  });

  test('what the verifier remembers must still be there', () => {
    const remembered = verified(lines).checkpoint;
    expect(remembered).not.toBeNull();
    if (!remembered) return;
    expect(verified(lines, remembered).found).toBe(0);
    const ahead = { ...remembered, blockNo: remembered.blockNo + 1 };
    expect(kinds(verified(lines, ahead))).toEqual(['truncated']);
    expect(kinds(verified(lines, { ...remembered, hash: NO_HASH }))).toEqual(['block']);
  });
});

describe('an export by actor and time', () => {
  test('has these events only, and still proves them', async () => {
    const some = await exported({ actor: 'alice' });
    const report = verified(some);
    expect(report.findings).toEqual([]);
    expect(report.events).toBe(12 * 14);
    expect(report.leftOut).toBeGreaterThan(1_000);
    expect(await exported({ actor: 'operator:alice' })).toHaveLength(some.length);
    const place = some.findIndex(isOf('event'));
    expect(kinds(verified(some.with(place, changedIn(some[place] ?? '', 'comment'))))).toEqual(['changed']);
  });

  test('a time in which nothing happened has no event', async () => {
    const long = await exported({ until: { seconds: 1n, nanos: 0 } });
    expect(verified(long)).toMatchObject({ found: 0, events: 0 });
  });

  test('since a time, it has the newest events', async () => {
    const [row] = await server.sql<{ at: Date }>('SELECT max(at) AS at FROM events');
    const since = { seconds: BigInt(Math.floor((row?.at.getTime() ?? 0) / 1000)), nanos: 0 };
    const report = verified(await exported({ since }));
    expect(report.findings).toEqual([]);
    expect(report.events).toBeGreaterThan(0);
  });
});

describe('the log in the database', () => {
  const online = async () => verified(await exported());
  const inside = async (statement: string) => {
    // The names of columns are written out: a row is put back as it was.
    const [{ id } = { id: 0 }] = await server.sql<{ id: number }>(
      'SELECT event_id::int AS id FROM events ORDER BY event_id OFFSET 600 LIMIT 1',
    );
    await server.sql('CREATE TABLE kept AS SELECT * FROM events');
    try {
      await server.sql(statement.replaceAll('$id', String(id)));
      return { id, report: await online() };
    } finally {
      await server.sql('TRUNCATE events');
      await server.sql('INSERT INTO events OVERRIDING SYSTEM VALUE SELECT * FROM kept');
      await server.sql('DROP TABLE kept');
    }
  };

  test.each([
    ['changed', `UPDATE events SET comment = 'x' WHERE event_id = $id`],
    ['changed', `UPDATE events SET at = at + interval '1 microsecond' WHERE event_id = $id`],
    ['changed', `UPDATE events SET metadata = '{"z": 601.0}' WHERE event_id = $id`],
    ['changed', `UPDATE events SET actor_id = 'someone' WHERE event_id = $id`],
    ['removed', `DELETE FROM events WHERE event_id = $id`],
  ])('%s by %s', async (kind, statement) => {
    const { id, report } = await inside(statement);
    expect(report.findings).toMatchObject([{ kind, eventId: id }]);
  });

  test('inserted between two others', async () => {
    const { report } = await inside(
      `WITH gone AS (DELETE FROM events WHERE event_id = $id RETURNING *)
         INSERT INTO events OVERRIDING SYSTEM VALUE
         SELECT 0 - event_id, xid, at, kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata, machine_id,
           operation_id, snapshot, address, request_id, via, changes FROM gone`,
    );
    expect(kinds(report)).toEqual(['inserted', 'removed']);
  });

  test('exchanged with another', async () => {
    const { report } = await inside(
      `UPDATE events e SET subject = o.subject, comment = o.comment, metadata = o.metadata, machine_id = o.machine_id
       FROM events o WHERE (e.event_id = $id AND o.event_id = $id + 1) OR (e.event_id = $id + 1 AND o.event_id = $id)`,
    );
    expect(report.findings.map(({ kind }) => kind)).toEqual(['changed', 'changed']);
  });

  test('and as it was again, nothing is found', async () => {
    expect((await online()).findings).toEqual([]);
  });

  test('an end that was cut off with its blocks is found, also after the chain went on', async () => {
    await server.sql(`CREATE TABLE cut AS SELECT * FROM audit_blocks ORDER BY block_no DESC LIMIT 1`);
    await server.sql(`DELETE FROM events WHERE event_id >= (SELECT first_event_id FROM cut)`);
    await server.sql(`DELETE FROM audit_checkpoints WHERE block_no = (SELECT block_no FROM cut)`);
    await server.sql(`DELETE FROM audit_blocks WHERE block_no = (SELECT block_no FROM cut)`);
    expect(kinds(await online())).toEqual(['truncated']);
    await server.admin.createPool({ name: fresh('pool') });
    await sealed();
    expect(kinds(await online())).toEqual(['block']);
    const [event] = await server.sql<{ kind: string }>(`SELECT kind FROM events WHERE to_state = 'end_lost'`);
    expect(event).toMatchObject({ kind: 'audit' });
    expect(server.logged.join('')).toContain('the end of the audit chain is missing');
  });
});

/** The lines that verify one event alone: header, keys, its block and the end do not matter here. */
function blockAround(place: number): number[] {
  let start = place;
  while (!isOf('block')(lines[start] ?? '')) start -= 1;
  let end = place;
  while (end < lines.length && !(isOf('block')(lines[end] ?? '') && end > place)) end += 1;
  const head = lines.flatMap((line, at) => (isOf('export')(line) || isOf('key')(line) ? [at] : []));
  // A few events around it are enough: the others are then missing, which is found, too.
  const near = Array.from({ length: end - start }, (_, n) => start + n).filter(
    (at) => at === start || Math.abs(at - place) < 3,
  );
  return [...head, ...near];
}

/** The value of a column changed a little, as text: a parser would change numbers on its own. */
function changedIn(line: string, column: string): string {
  const at = line.indexOf(`"${column}":`) + column.length + 3;
  const value = line.slice(at);
  if (value.startsWith('"')) return `${line.slice(0, at)}"!${value.slice(1)}`;
  if (value.startsWith('{'))
    return `${line.slice(0, at)}{"!":1${value.startsWith('{}') ? '' : ','}${value.slice(1)}`;
  if (value.startsWith('['))
    return `${line.slice(0, at)}[1${value.startsWith('[]') ? '' : ','}${value.slice(1)}`;
  return `${line.slice(0, at)}1${value}`;
}

function withId(line: string | undefined, id: number): string {
  return (line ?? '').replace(/"event_id":\d+/, `"event_id":${id}`);
}

/** What a forger does who can write everything in the database: one event changed, and every hash computed again. */
function resealed(all: readonly string[], key: ReturnType<typeof auditKeyOf> | null): string[] {
  const target = eventLines()[10];
  const records = all.map((line, place) => readRecord(place === target ? changedIn(line, 'comment') : line));
  let previousHash = NO_HASH;
  const events = records.filter((record) => record.type === 'event');
  const leaves = new Map(events.map(({ eventId, canonical }) => [eventId, leafOf(canonical)]));
  return records.flatMap((record): string[] => {
    if (record.type === 'key' && key)
      return [recordLine({ ...record, keyId: key.keyId, publicKey: key.publicKey, signature: '' })];
    if (record.type === 'block') {
      const list: Leaf[] = (record.leaves ?? []).map(({ eventId, leaf }) => ({
        eventId,
        leaf: leaves.get(eventId) ?? leaf,
      }));
      const header = { ...record.block, previousHash, root: rootOf(packLeaves(list)) };
      previousHash = blockHash(header);
      return [recordLine({ ...record, block: { ...header, hash: previousHash }, leaves: list })];
    }
    if (record.type === 'checkpoint') return [recordLine(signedAgain(record, previousHash, key))];
    return [recordLine(record)];
  });
}

function signedAgain(
  record: Extract<ExportRecord, { type: 'checkpoint' }>,
  hash: string,
  key: ReturnType<typeof auditKeyOf> | null,
): ExportRecord {
  if (key === null) return { ...record, hash };
  const claim = { ...record, hash, keyId: key.keyId };
  return { ...claim, signature: key.sign(checkpointText(claim)) };
}

test('the form of the hashes is fixed: a verifier of today verifies the log of tomorrow', () => {
  const canonical = canonicalJson('{"event_id": 1, "comment": "é"}');
  const expected = createHash('sha256').update(`ingot audit event 1\n${canonical}`).digest('hex');
  expect(leafOf(canonical)).toBe(expected);
  expect(expected).toBe(leafOf('{"comment":"é","event_id":1}'));
});
