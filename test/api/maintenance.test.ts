/** Maintenance that expires: shown overdue when its time is over, and ended by the server where that was asked for. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { launch } from '../cli/harness.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { ended, fresh, get, newMachine, run, start, statusOf } from './fleet.ts';

let database: TestDatabase;
let server: TestServer;
let replica: TestServer;
beforeAll(async () => {
  database = await cloneDatabase();
  server = await startTestServer({ database });
  replica = await startTestServer({ database });
});
afterAll(async () => {
  await replica?.stop();
  await server?.stop();
  await database?.drop();
});

interface Order {
  readonly duration?: string;
  readonly reason?: string;
  readonly exitWhenOver?: boolean;
}

async function enter(machineId: string, order: Order) {
  await ended(
    server,
    await server.machines.enterMaintenance({ machineId, requestId: fresh('enter'), ...order }),
  );
  return (await get(server, machineId)).status?.maintenance;
}

const secondsOf = (at: { seconds: bigint } | undefined) => Number(at?.seconds ?? 0);

test('a machine shows its maintenance, and a second order replaces the first', async () => {
  const machineId = await newMachine(server, { phase: 'READY' });
  const first = await enter(machineId, { duration: '2h', reason: 'new fan' });
  expect(first).toMatchObject({
    reason: 'new fan',
    by: 'admin:admin',
    exitsByItself: false,
    overdue: false,
  });
  expect(secondsOf(first?.until) - secondsOf(first?.since)).toBe(7200);
  const second = await enter(machineId, { duration: '1d', reason: 'no fan yet', exitWhenOver: true });
  expect(second).toMatchObject({ since: first?.since, reason: 'no fan yet', exitsByItself: true });
  expect(secondsOf(second?.until)).toBeGreaterThan(secondsOf(first?.until));
  await run(server, 'EXIT_MAINTENANCE', machineId);
  expect((await get(server, machineId)).status?.maintenance).toBeUndefined();
});

test('its parameters are checked, and are those of the operation', async () => {
  const machineId = await newMachine(server);
  for (const [order, field] of [
    [{ duration: 'soon' }, 'duration'],
    [{ exitWhenOver: true }, 'duration'],
    [{ reason: 'x'.repeat(1001) }, 'reason'],
  ] as const)
    expect(
      await refusal(server.machines.enterMaintenance({ machineId, requestId: fresh('r'), ...order })),
    ).toMatchObject({ code: 'INVALID_ARGUMENT', metadata: { field } });
  const operation = await server.machines.enterMaintenance({
    machineId,
    requestId: fresh('r'),
    duration: '30m',
    reason: 'why not',
    exitWhenOver: true,
  });
  expect(operation.params).toEqual({ duration: '30m', reason: 'why not', exit_when_over: 'true' });
});

test('one that is over is shown overdue: machine, filter, overview, explanation and command line', async () => {
  const machineId = await newMachine(server, { phase: 'READY' });
  await enter(machineId, { duration: '1s', reason: 'quick look' });
  const overdue = async () =>
    (await server.machines.listMachines({ filter: 'maintenance_overdue=true' })).machines.map(
      (machine) => machine.machineId,
    );
  await until(overdue, (ids) => ids.includes(machineId));
  expect((await get(server, machineId)).status?.maintenance?.overdue).toBe(true);
  const overview = await server.client(FleetService, server.adminToken).getOverview({});
  expect(overview.overdue[0]).toMatchObject({ layer: 'maintenance', filter: 'maintenance_overdue=true' });
  const { summary } = await server.admin.explainMachine({ machineId });
  expect(summary).toMatch(
    /it is in maintenance by admin:admin \(quick look\), which was over at .*: it is overdue/,
  );
  const { stdout } = await launch(server.grpcAddress, 'maintenance list', {
    env: { INGOT_TOKEN: server.adminToken },
  }).ended;
  expect(stdout).toMatch(new RegExp(`${machineId} .* yes +- +quick look +admin:admin`));
  expect(stdout).toMatch(/^MACHINE_ID +SINCE +FOR +UNTIL +OVERDUE +EXITS +REASON +BY/);
  // It stays: no one asked for its end.
  expect(statusOf(await get(server, machineId)).phase).toBe('MAINTENANCE');
});

test('one that exits by itself is ended once, whatever the number of replicas', {
  tags: ['extended'],
  timeout: 60_000,
}, async () => {
  const machines = await Promise.all(Array.from({ length: 5 }, () => newMachine(server, { phase: 'READY' })));
  const extended = await newMachine(server, { phase: 'READY' });
  await enter(extended, { duration: '1h', exitWhenOver: true });
  await Promise.all(machines.map((id) => enter(id, { duration: '1s', reason: 'short', exitWhenOver: true })));
  for (const machineId of machines)
    await until(
      () => get(server, machineId),
      (machine) => statusOf(machine).phase === 'READY',
      30_000,
    );
  const rows = await server.sql<{ machine_id: string; started_by: string; count: number }>(
    `SELECT machine_id, started_by, count(*)::integer AS count FROM operations
     WHERE machine_id = ANY($1) AND request_id LIKE 'maintenance-over-%' GROUP BY 1, 2 ORDER BY 1`,
    [[...machines, extended]],
  );
  expect(rows).toEqual(
    [...machines].sort().map((id) => ({ machine_id: id, started_by: 'system:maintenance', count: 1 })),
  );
  expect(statusOf(await get(server, extended)).phase).toBe('MAINTENANCE');
});

test('one whose machine is worked on when it is over is ended after that', {
  tags: ['extended'],
  timeout: 60_000,
}, async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
  await enter(machineId, { duration: '1h', exitWhenOver: true });
  const { operationId } = await start(server, 'REBOOT', machineId);
  await server.sql(
    `UPDATE machines SET maintenance = maintenance || '{"until": "2026-01-01T00:00:00.000Z"}' WHERE machine_id = $1`,
    [machineId],
  );
  expect((await get(server, machineId)).status).toMatchObject({
    activeOperationId: operationId,
    maintenance: { overdue: true },
  });
  await server.machines.cancelOperation({ operationId });
  await until(
    () => get(server, machineId),
    (machine) => statusOf(machine).phase === 'READY',
    30_000,
  );
});
