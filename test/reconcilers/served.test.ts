// @module-tag extended: beside-operations.test.ts has a server with its probes.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ probes: { intervalSeconds: 1 } });
});
afterAll(() => server.stop());

it('a server keeps the conditions of its machines up to date, and names the reconciler as the actor', async () => {
  const spec = { bmcEndpoint: '127.0.0.1', targetClusterRef: 'cluster-a' };
  await server.machines.registerMachine({ machine: { machineId: 'seen', spec } });
  const machine = await until(
    () => server.machines.getMachine({ machineId: 'seen' }),
    ({ status }) => status?.conditions.length === 3,
  );
  expect(machine.status?.conditions.map(({ type, status, reason }) => ({ type, status, reason }))).toEqual([
    { type: 'Reachable', status: true, reason: 'PingOK' },
    { type: 'BMCReachable', status: true, reason: 'BmcOK' },
    { type: 'InCustomerCluster', status: false, reason: 'NotJoined' },
  ]);
  const actors = await server.sql(
    `SELECT DISTINCT actor_kind, actor_id FROM events WHERE kind = 'condition' AND machine_id = $1`,
    ['seen'],
  );
  expect(actors).toEqual([{ actor_kind: 'system', actor_id: 'reconciler' }]);
});
