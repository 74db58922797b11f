// @module-tag extended: fleet/overview.test.ts has the counts of now.
/** The fleet over time: samples of its states, and operations by the hour in which they ended. */
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { OperationType } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { newMachine, run } from '../api/fleet.ts';
import { type Client, startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;
let fleet: Client<typeof FleetService>;

beforeAll(async () => {
  server = await startTestServer();
  fleet = server.client(FleetService, server.adminToken);
});
afterAll(() => server?.stop());

test('has samples of the states, of more than a day the last of each hour', async () => {
  await server.sql(
    `INSERT INTO fleet_samples (at, state, machines) VALUES
       (date_trunc('hour', now()) - interval '65 minutes', 'IDLE', 7),
       (date_trunc('hour', now()) - interval '65 minutes', 'ATTENTION', 1),
       (date_trunc('hour', now()) - interval '30 minutes', 'IDLE', 8)`,
  );
  const day = await fleet.getFleetHistory({ hours: 3 });
  expect(day.samples.slice(0, 2).map(({ machines }) => machines)).toEqual([
    { IDLE: 7, ATTENTION: 1 },
    { IDLE: 8 },
  ]);
  // Over more than a day, the last of each hour is enough.
  const week = await fleet.getFleetHistory({ hours: 168 });
  expect(week.samples.map(({ machines }) => machines.IDLE)).toContain(7);
  expect(week.samples.map(({ machines }) => machines.IDLE)).not.toContain(8);
  expect(week.hours.length).toBe(168);
});

test('counts operations by hour and phase, and says how long those that succeeded took', async () => {
  const labels = { 'fake/step-ms': '1' };
  const well = await newMachine(server, { phase: 'MAINTENANCE', labels });
  const failing = await newMachine(server, {
    phase: 'MAINTENANCE',
    labels: { ...labels, 'fake/fail-step': 'reboot' },
  });
  const done = await run(server, 'REBOOT', well);
  await run(server, 'REBOOT', failing);
  await server.sql(
    `UPDATE operations SET started_at = finished_at - interval '90 seconds' WHERE operation_id = $1`,
    [done.operationId],
  );
  const { hours, durations, from, at } = await fleet.getFleetHistory({ hours: 2 });
  expect(hours.length).toBe(2);
  expect(from && at && timestampMs(from) < timestampMs(at)).toBe(true);
  const ended = (phase: string) => hours.reduce((sum, { operations }) => sum + (operations[phase] ?? 0), 0);
  // Both machines entered maintenance before.
  expect([ended('SUCCEEDED'), ended('FAILED'), ended('CANCELED')]).toEqual([3, 1, 0]);
  const reboots = durations.find(({ type }) => type === OperationType.REBOOT);
  expect(reboots).toMatchObject({ operations: 2, failed: 1, p50Seconds: 90, p90Seconds: 90 });
});

test('has no samples of the whole fleet for a caller with a scope, and only operations of its machines', async () => {
  const machineId = await newMachine(server, {
    labels: { 'fake/step-ms': '1' },
    spec: { customerId: 'acme' },
  });
  const before = await fleet.getFleetHistory({ hours: 2 });
  expect(before.durations.length).toBeGreaterThan(0);
  const { secret } = await server.admin.createToken({
    name: 'acme',
    role: 'viewer',
    scope: 'customer_id = acme',
  });
  const tenant = server.client(FleetService, secret);
  expect(await tenant.getFleetHistory({})).toMatchObject({ samples: [], durations: [] });
  await run(server, 'ENTER_MAINTENANCE', machineId);
  const { durations } = await tenant.getFleetHistory({});
  expect(durations.map(({ operations }) => operations)).toEqual([1]);
});

test('refuses a time that is too long', async () => {
  await expect(fleet.getFleetHistory({ hours: 169 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});
