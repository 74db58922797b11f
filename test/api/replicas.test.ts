import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { ended, fakeStateOf, newMachine, phaseOf, run, start } from './fleet.ts';

/** Far longer than any test, so that code that waits for a lease to expire fails its test. */
const LEASE_MS = 60_000;

/** How many operations the first replica works on at once. */
const IN_HAND = 4;

let database: TestDatabase;
let server: TestServer;
let replica: TestServer;

beforeAll(async () => {
  database = await cloneDatabase();
  server = await startTestServer({ database, leaseMs: LEASE_MS, maxInHand: IN_HAND });
  replica = await startTestServer({ database, leaseMs: LEASE_MS });
});
afterAll(async () => {
  await replica?.stop();
  await server?.stop();
  await database?.drop();
});

async function manyMachines(count: number, labels: Record<string, string> = {}): Promise<string[]> {
  return Promise.all(
    Array.from({ length: count }, () => newMachine(server, { phase: 'MAINTENANCE', labels })),
  );
}

test('operations that are started on one replica are run by both', async () => {
  // Each is in hand for as long as its step: the replica that they are started on has no room for all of them.
  const machines = await manyMachines(3 * IN_HAND, { 'fake/step-ms': '100' });
  const operations = await Promise.all(machines.map((id) => run(server, 'REIMAGE', id)));
  expect(new Set(operations.map(phaseOf))).toEqual(new Set(['SUCCEEDED']));
  const owners = await server.sql(
    `SELECT DISTINCT actor_id FROM events WHERE kind = 'step' AND operation_id = ANY($1)`,
    [operations.map(({ operationId }) => operationId)],
  );
  expect(owners).toHaveLength(2);
});

test('what is started, read, updated and canceled through one replica is seen through the other', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
  const { operationId } = await start(replica, 'REBOOT', machineId);
  expect((await server.machines.getMachine({ machineId })).status?.activeOperationId).toBe(operationId);
  await server.machines.cancelOperation({ operationId });
  expect(phaseOf(await ended(replica, { operationId }))).toBe('CANCELED');
});

test('a replica that stops in the middle of the work hands it over at once', async () => {
  const leaving = await startTestServer({ database, leaseMs: LEASE_MS });
  const machines = await manyMachines(40);
  const started = await Promise.all(machines.map((id) => start(leaving, 'REIMAGE', id)));
  await leaving.stop();
  const stoppedAt = performance.now();
  const operations = await Promise.all(started.map((operation) => ended(server, operation)));
  expect(new Set(operations.map(phaseOf))).toEqual(new Set(['SUCCEEDED']));
  expect(performance.now() - stoppedAt).toBeLessThan(LEASE_MS / 4);
});

test('the one operation that a stopping replica has in its hands is finished by another', async () => {
  const alone = await cloneDatabase();
  const leaving = await startTestServer({ database: alone, leaseMs: LEASE_MS });
  const machineId = await newMachine(leaving, { phase: 'MAINTENANCE' });
  await run(leaving, 'REBOOT', machineId);
  // Holds the machine still, so that the replica is caught in the middle of an effect.
  const holder = new pg.Client({ connectionString: alone.url });
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM fake_machines WHERE machine_id = $1 FOR UPDATE', [machineId]);
  const { operationId } = await start(leaving, 'REIMAGE', machineId);
  await until(
    () =>
      holder.query(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      ),
    ({ rowCount }) => rowCount === 1,
  );
  const [held] = await leaving.sql<{ owner: string | null }>(
    'SELECT owner FROM operations WHERE operation_id = $1',
    [operationId],
  );
  expect(held?.owner).not.toBeNull();
  const stopped = leaving.stop();
  await sleep(200);
  await holder.query('COMMIT');
  await stopped;
  const [left] = (
    await holder.query('SELECT owner, status FROM operations WHERE operation_id = $1', [operationId])
  ).rows;
  expect(left).toEqual({ owner: null, status: 'running' });
  const next = await startTestServer({ database: alone, leaseMs: LEASE_MS });
  const startedAt = performance.now();
  const operation = await ended(next, { operationId });
  expect(phaseOf(operation)).toBe('SUCCEEDED');
  expect(operation.steps.map(({ retryCount }) => retryCount)).toEqual([0, 0, 0]);
  expect(performance.now() - startedAt).toBeLessThan(LEASE_MS / 10);
  expect((await fakeStateOf(next, machineId)).bootCount).toBe(3);
  await holder.end();
  await next.stop();
  await alone.drop();
});

test('a server that is started again has everything that it had', { tags: ['extended'] }, async () => {
  const own = await cloneDatabase();
  const first = await startTestServer({ database: own, leaseMs: LEASE_MS });
  const machineId = await newMachine(first, { phase: 'MAINTENANCE', labels: { 'fake/step-ms': '150' } });
  const before = await first.machines.listMachines({});
  const { operationId } = await start(first, 'REIMAGE', machineId);
  await first.stop();
  const second = await startTestServer({ database: own, leaseMs: LEASE_MS });
  expect((await second.machines.listMachines({})).machines.map((machine) => machine.labels)).toEqual(
    before.machines.map((machine) => machine.labels),
  );
  expect(phaseOf(await ended(second, { operationId }))).toBe('SUCCEEDED');
  await second.stop();
  await own.drop();
});

test('many replicas may start on one empty database at once', { tags: ['extended'] }, async () => {
  const shared = await cloneDatabase();
  const all = await Promise.all(Array.from({ length: 3 }, () => startTestServer({ database: shared })));
  for (const each of all) await each.admin.listTokens({});
  const { tokens } = await (all[0] as TestServer).admin.listTokens({});
  expect(tokens).toHaveLength(3);
  await Promise.all(all.map((each) => each.stop()));
  await shared.drop();
});
