import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PhaseGatedType } from '../../src/domain/operation/phase-gated-type.ts';
import { type OperationEvent, OperationEvent_Kind } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { cloneDatabase } from '../parts/postgres.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { newMachine, run, start } from './fleet.ts';
import { allEnded, ends, endsOf, isSynced, logged, ofKind, phasesIn, watch, wordsFor } from './watch.ts';

let server: TestServer;
let replica: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  replica = await startTestServer({ database: server.database });
});
afterAll(async () => {
  await replica?.stop();
  await server?.stop();
});

/** Stores operations that have ended, with the ids that a query gives. */
function storeOperations(machineId: string, ids: string): string {
  return `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract,
      params, steps, started_by, finished_at)
    SELECT id, '${machineId}', id, '', 'REBOOT', 'completed', 'operation', '{}', '[]', '', now() FROM (${ids}) AS ids(id)`;
}

/** Stores the event of the end of each. */
function storeEndings(ids: string): string {
  return `INSERT INTO events (kind, subject, from_state, to_state, actor_kind, actor_id, comment, metadata, operation_id,
      snapshot)
    SELECT 'operation', 'REBOOT', 'running', 'completed', 'system', '', '', '{}', id,
      '{"status": "completed", "current": 0, "error": null, "waitingFor": "", "cancelRequested": false,
        "startedAt": null, "finishedAt": "2026-01-30T10:00:00Z", "steps": []}' FROM (${ids}) AS ids(id)`;
}

const TYPES: readonly PhaseGatedType[] = [
  'ENTER_MAINTENANCE',
  'REIMAGE',
  'REBOOT',
  'EXIT_MAINTENANCE',
  'REBOOT',
];

async function work(machines: readonly string[]): Promise<void> {
  await Promise.all(
    machines.map(async (machineId, index) => {
      for (const type of TYPES) await run(index % 2 === 0 ? server : replica, type, machineId);
    }),
  );
}

test('a watch that is resumed at random events on random replicas misses nothing and receives nothing twice', {
  tags: ['extended'],
}, async () => {
  const machines: string[] = [];
  for (let index = 0; index < 12; index += 1) machines.push(await newMachine(server));
  const filter = machines.map((machineId) => `machine_id=${machineId}`).join(' OR ');
  let cursor = '';
  for (const { kind, cursor: at } of await watch(server, { filter }, isSynced)) {
    expect(kind).toBe(OperationEvent_Kind.SYNCED);
    cursor = at;
  }
  const working = work(machines);
  const received: OperationEvent[] = [];
  const isOver = ends(machines.length * TYPES.length);
  let connections = 0;
  for (let over = false; !over; connections += 1) {
    let takes = 1 + Math.floor(Math.random() * 25);
    const from = Math.random() < 0.5 ? server : replica;
    const part = await watch(from, { filter, cursor }, (event) => {
      takes -= 1;
      over = isOver(event);
      return over || takes === 0;
    });
    received.push(...part);
    cursor = received.at(-1)?.cursor ?? '';
  }
  await working;
  expect(connections).toBeGreaterThan(10);
  expect(received.map(wordsFor)).toEqual(await logged(server, 'machine_id = ANY($1)', [machines]));
  expect(new Set(received.map((event) => event.cursor)).size).toBe(received.length);
  for (const machineId of machines) {
    const phases = phasesIn(received.filter(({ snapshot }) => snapshot?.machineId === machineId));
    expect(phases).toEqual(TYPES.flatMap(() => ['PENDING', 'RUNNING', 'SUCCEEDED']));
  }
});

test('a watch that joins in the middle of the work sends each operation from where its snapshot ends', {
  tags: ['extended'],
}, async () => {
  const machines: string[] = [];
  for (let index = 0; index < 10; index += 1) machines.push(await newMachine(server));
  const machineFilter = machines.map((machineId) => `machine_id=${machineId}`).join(' OR ');
  const working = work(machines);
  const last = TYPES.length * machines.length;
  const watches = Array.from({ length: 8 }, async (_, index) => {
    await sleep(index * 60);
    return watch(index % 2 === 0 ? server : replica, { filter: machineFilter }, allEnded(last));
  });
  const all = await Promise.all(watches);
  await working;
  const truth = await logged(server, 'machine_id = ANY($1)', [machines]);
  for (const seen of all) expectSeamless(seen, truth);
});

test.each([
  ['behind', 'op-zz'],
  ['before', 'op-00'],
])(
  'a first batch in many pages is seamless, with what changes %s all the rest',
  { tags: ['extended'] },
  async (_when, prefix) => {
    const busy = await startTestServer();
    await busy.machines.registerMachine({ machine: { machineId: 'history' } });
    // Newest first: these ids put the operations that change on the last page, or on the first.
    const ids = `SELECT '${prefix}' || lpad(n::text, 6, '0') FROM generate_series(1, 4500) AS n`;
    await busy.sql(storeOperations('history', ids));
    const machines: string[] = [];
    for (let index = 0; index < 6; index += 1) machines.push(await newMachine(busy));
    const working = Promise.all(
      machines.map(async (machineId) => {
        for (const type of TYPES) await run(busy, type, machineId);
      }),
    );
    const isOver = allEnded(machines.length * TYPES.length);
    const seen = await watch(busy, { filter: 'operation_id=*' }, (event) =>
      event.snapshot?.machineId === 'history' ? false : isOver(event),
    );
    await working;
    expect(ofKind(seen, OperationEvent_Kind.SNAPSHOT).length).toBeGreaterThanOrEqual(4500);
    expectSeamless(seen, await logged(busy, 'machine_id = ANY($1)', [machines]));
    await busy.stop();
  },
);

/** Of each operation the watch sent either all changes, or all that its snapshot does not have. */
function expectSeamless(seen: readonly OperationEvent[], truth: readonly string[]): void {
  const synced = seen.findIndex(({ kind }) => kind === OperationEvent_Kind.SYNCED);
  expect(ofKind(seen.slice(synced), OperationEvent_Kind.SNAPSHOT)).toEqual([]);
  const snapshots = new Map(
    ofKind(seen, OperationEvent_Kind.SNAPSHOT).map((event) => [event.snapshot?.operationId ?? '', event]),
  );
  const sent = seen
    .filter(({ kind, snapshot }) => snapshot && kind !== OperationEvent_Kind.SNAPSHOT)
    .map(wordsFor);
  for (const operationId of new Set(truth.map((line) => line.split(' ')[0] ?? ''))) {
    const whole = truth.filter((line) => line.startsWith(operationId));
    const received = sent.filter((line) => line.startsWith(operationId));
    expect(received).toEqual(received.length === 0 ? [] : whole.slice(-received.length));
    const snapshot = snapshots.get(operationId);
    if (!snapshot) expect(received).toEqual(whole);
    else expect(stateIn(wordsFor(snapshot))).toBe(stateIn(whole.at(-received.length - 1) ?? ''));
  }
}

/** Status and steps, without the kind of event that sent them. */
function stateIn(words: string): string {
  const [, status, steps] = / (\w+) (\[[^\]]*\])/.exec(words) ?? [];
  return `${status} ${steps}`;
}

test('a watch goes on after the server was restarted, also with what happened in between', async () => {
  const database = await cloneDatabase();
  const dataDir = mkdtempSync(join(tmpdir(), 'ingot-test-restart-'));
  const first = await startTestServer({ database, dataDir });
  const machineId = await newMachine(first);
  const before = await watch(first, {}, ends(1), () => start(first, 'ENTER_MAINTENANCE', machineId));
  const { cursor } = before.at(-3) as OperationEvent;
  await run(first, 'REBOOT', machineId);
  await first.stop();
  const second = await startTestServer({ database, dataDir });
  const after = await watch(second, { cursor }, ends(2));
  const finished = run(second, 'REBOOT', machineId);
  const rest = await watch(second, { cursor: after.at(-1)?.cursor ?? '' }, ends(1));
  await finished;
  expect(phasesIn([...after, ...rest])).toEqual([
    'SUCCEEDED',
    ...['PENDING', 'RUNNING', 'SUCCEEDED'],
    ...['PENDING', 'RUNNING', 'SUCCEEDED'],
  ]);
  await second.stop();
  await database.drop();
  rmSync(dataDir, { recursive: true });
});

test('a watch is asked to come back when the server stops', async () => {
  const leaving = await startTestServer({ database: server.database });
  const call = leaving.operations.watchOperations({ sendSynced: true });
  const reading = (async () => {
    for await (const event of call) if (event.kind === OperationEvent_Kind.SYNCED) void leaving.stop();
  })();
  await expect(reading).rejects.toMatchObject({ code: 'UNAVAILABLE', reason: 'SERVER_STOPPING' });
});

test('a watch through more operations than it remembers still receives all', {
  tags: ['extended'],
}, async () => {
  const many = await startTestServer();
  const OLD = 11_000;
  await many.sql(`INSERT INTO machines (machine_id, labels, spec, phase)
    VALUES ('busy', '{}', '{"provider": "fake", "mac_addresses": []}', 'READY')`);
  const named = (numbers: string) => `SELECT 'op-' || lpad(n::text, 6, '0') FROM (${numbers}) AS numbers(n)`;
  await many.sql(storeOperations('busy', named(`SELECT generate_series(1, ${OLD + 1000})`)));
  const store = (numbers: string) => many.sql(storeEndings(named(numbers)));
  const [synced] = await watch(many, {}, isSynced);
  await store(`SELECT generate_series(1, ${OLD})`);
  // New ones and old ones in turn, so that they share a batch.
  await store(
    `SELECT CASE WHEN n % 2 = 0 THEN n ELSE ${OLD} + (n + 1) / 2 END FROM generate_series(1, 2000) AS n ORDER BY n`,
  );
  const total = OLD + 2000;
  const seen = await watch(many, { cursor: synced?.cursor ?? '' }, endsOf('op-002000', 2));
  expect(seen).toHaveLength(total);
  await many.stop();
});
