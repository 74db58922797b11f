/** What counts as unavailable is the same in a machine, a filter, a facet and an explanation, and the database keeps track of it. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { ended, fresh, get, newMachine, run, start } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

async function availabilityOf(machineId: string) {
  const { status } = await get(server, machineId);
  const { machines } = await server.machines.listMachines({
    filter: `machine_id=${machineId} AND available=${status?.available ?? '*'}`,
  });
  const explained = await server.admin.explainMachine({ machineId });
  expect(explained.available).toBe(status?.available);
  expect(explained).toMatchObject({
    unavailableReason: status?.unavailableReason,
    unavailableMessage: status?.unavailableMessage,
  });
  expect(machines).toHaveLength(status?.available === undefined ? 0 : 1);
  return [status?.available, status?.unavailableReason, status?.unavailableMessage];
}

test('a machine counts from the first time that it is in service, and is unavailable while it is worked on', async () => {
  const machineId = await newMachine(server);
  expect(await availabilityOf(machineId)).toEqual([undefined, '', 'it was never in service']);
  await run(server, 'ENTER_MAINTENANCE', machineId);
  expect(await availabilityOf(machineId)).toEqual([undefined, '', 'it was never in service']);
  expect((await get(server, machineId)).status?.enteredServiceAt).toBeUndefined();

  await run(server, 'EXIT_MAINTENANCE', machineId);
  expect(await availabilityOf(machineId)).toEqual([true, '', '']);
  const { status } = await get(server, machineId);
  expect(status?.enteredServiceAt).toBeDefined();

  await server.machines.updateMachine({ machine: { machineId, labels: { 'fake/hang-step': 'reboot' } } });
  const { operationId } = await start(server, 'REBOOT', machineId);
  expect(await availabilityOf(machineId)).toEqual([
    false,
    'operation',
    `an operation works on it: REBOOT ${operationId}`,
  ]);
  expect((await get(server, machineId)).status?.activeOperationType).toBe('REBOOT');
  await server.machines.cancelOperation({ operationId });
  await ended(server, { operationId });
  expect(await availabilityOf(machineId)).toEqual([true, '', '']);
  expect((await get(server, machineId)).status?.activeOperationType).toBe('');

  await run(server, 'ENTER_MAINTENANCE', machineId);
  expect(await availabilityOf(machineId)).toEqual([false, 'maintenance', 'it is in maintenance']);
  await run(server, 'EXIT_MAINTENANCE', machineId);
  expect((await get(server, machineId)).status?.enteredServiceAt).toEqual(status?.enteredServiceAt);
});

test('machines are counted by availability and by its reason', async () => {
  const labels = { batch: fresh('batch') };
  const [up, down] = [
    await newMachine(server, { labels, phase: 'READY' }),
    await newMachine(server, { labels, phase: 'READY' }),
  ];
  await newMachine(server, { labels });
  await server.admin.flagMachine({ machineId: down, flag: MachineFlag_Value.RMA, reason: 'fan' });
  const filter = `labels.batch=${labels.batch}`;
  const { facets } = await server
    .client(FleetService, server.adminToken)
    .countMachines({ filter, facets: ['available', 'unavailable_reason'] });
  expect(facets.map(({ values }) => values.map(({ value, machines }) => [value, machines]))).toEqual([
    [
      ['', 1],
      ['false', 1],
      ['true', 1],
    ],
    [
      ['', 2],
      ['flagged_rma', 1],
    ],
  ]);
  const { machines } = await server.machines.listMachines({ filter: `${filter} AND available=true` });
  expect(machines.map(({ machineId }) => machineId)).toEqual([up]);
});

test('the migration finds in the event log which machines were in service', async () => {
  const [never, was, is] = [
    await newMachine(server, { phase: 'MAINTENANCE' }),
    await newMachine(server, { phase: 'READY' }),
    await newMachine(server, { phase: 'READY' }),
  ];
  await run(server, 'ENTER_MAINTENANCE', was);
  const read = () =>
    server.sql<{ machine_id: string; entered_service_at: Date | null }>(
      'SELECT machine_id, entered_service_at FROM machines WHERE machine_id = ANY($1) ORDER BY machine_id',
      [[never, was, is]],
    );
  const before = await read();
  await server.sql('UPDATE machines SET entered_service_at = NULL WHERE machine_id = ANY($1)', [
    [never, was, is],
  ]);
  const migration = readFileSync('src/store/migrations/0032-availability-and-budgets.sql', 'utf8');
  const backfill = /WITH entered AS[\s\S]*?;/.exec(migration)?.[0] ?? '';
  await server.sql(backfill);
  const after = await read();
  expect(after.map(({ entered_service_at: at }) => at !== null)).toEqual(
    before.map(({ entered_service_at: at }) => at !== null),
  );
  const times = (rows: typeof before) => rows.map(({ entered_service_at: at }) => at?.getTime() ?? 0);
  for (const [index, at] of times(after).entries())
    expect(Math.abs(at - (times(before)[index] ?? 0))).toBeLessThan(2_000);
});
