/** Operations that are slower than their history: which, where it shows, and to whom. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { messageHeadline } from '../../src/client/message-headline.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { holdNewOperations, newMachine } from '../api/fleet.ts';
import { type Client, startTestServer, type TestServer } from '../parts/server.ts';
import { standingOperation } from './standing-operation.ts';

let server: TestServer;
let fleet: Client<typeof FleetService>;
let slow = '';
let usual = '';

const WORDS = 'slower than 99 % of its history: 14 min, usually 3 min';

beforeAll(async () => {
  server = await startTestServer();
  fleet = server.client(FleetService, server.adminToken);
  // No worker takes up the operations that stand still here.
  await holdNewOperations(server);
  const past = await newMachine(server, { labels: { tenant: 'red' } });
  for (let n = 0; n < 30; n += 1)
    await standingOperation(server, `op-past-${n}`, past, n === 0 ? 5 : 3, 'completed');
  slow = await newMachine(server, { labels: { tenant: 'red' } });
  usual = await newMachine(server, { labels: { tenant: 'blue' } });
  await standingOperation(server, 'op-slow', slow, 14, 'running');
  await standingOperation(server, 'op-usual', usual, 4, 'running');
});
afterAll(() => server?.stop());

test('lists and single answers say which step is slower than 99 % of its history, in words', async () => {
  const { operations } = await server.operations.listOperations({ filter: 'phase=RUNNING' });
  expect(
    Object.fromEntries(operations.map(({ operationId, stalled }) => [operationId, stalled?.message])),
  ).toEqual({
    'op-slow': WORDS,
    'op-usual': undefined,
  });
  const one = await server.operations.getOperation({ operationId: 'op-slow' });
  expect(one.stalled).toMatchObject({ step: 'wait', usualSeconds: 180n, samples: 30, message: WORDS });
  expect(one.steps[0]?.stalled?.message).toBe(WORDS);
  const { machines } = await server.machines.listMachines({ filter: `machine_id=${slow}` });
  expect(machines[0]?.status?.stalled?.message).toBe(WORDS);
  expect(machines[0] && messageHeadline(machines[0], Date.now()).text).toBe('BUSY · reimage stalled');
  const { headline, headlineTone } = await server.admin.explainMachine({ machineId: slow });
  expect({ headline, headlineTone }).toEqual({ headline: 'BUSY · reimage stalled', headlineTone: 'warning' });
});

test('the overview has them, for each caller those of its own scope', async () => {
  const all = await fleet.getOverview({});
  expect(all.operationsStalled).toBe(1);
  expect(all.stalled[0]).toMatchObject({
    operationId: 'op-slow',
    machineId: slow,
    stall: { message: WORDS },
  });
  const scoped = async (tenant: string) => {
    const { secret } = await server.admin.createToken({
      name: tenant,
      role: 'viewer',
      scope: `labels.tenant=${tenant}`,
    });
    return secret;
  };
  const stalled = async (tenant: string) =>
    (await server.client(FleetService, await scoped(tenant)).getOverview({})).operationsStalled;
  expect([await stalled('red'), await stalled('blue')]).toEqual([1, 0]);
});

test('what is usual for a tenant is what its own machines took, whatever others have', async () => {
  const alone = await newMachine(server, { labels: { tenant: 'green' } });
  await standingOperation(server, 'op-alone', alone, 14, 'running');
  const { secret } = await server.admin.createToken({
    ...{ name: 'green', role: 'viewer', scope: 'labels.tenant=green' },
  });
  const operations = server.client(OperationService, secret);
  expect((await operations.getOperation({ operationId: 'op-alone' })).stalled).toBeUndefined();
  for await (const { snapshot } of operations.watchOperations({})) {
    expect([snapshot?.operationId, snapshot?.stalled]).toEqual(['op-alone', undefined]);
    break;
  }
});
