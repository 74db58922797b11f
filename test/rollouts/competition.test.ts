// @module-tag extended: run.test.ts and src/domain have the budget; this has it on two replicas.
/** Two rollouts and single operations that compete for one budget at the same moment: it is never exceeded. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { fresh } from '../api/fleet.ts';
import { CallError, startTestServer, type TestServer } from '../parts/server.ts';
import { Rollouts } from './rollouts.ts';

const IN_RACK = 2;
let server: TestServer;
let second: TestServer;
let rollouts: Rollouts;

beforeAll(async () => {
  server = await startTestServer({ maxProbeMs: 50 });
  second = await startTestServer({ database: server.database, maxProbeMs: 50 });
  rollouts = new Rollouts(server.database.url);
});
afterAll(async () => {
  await rollouts?.close();
  await second?.stop();
  await server?.stop();
});

it('a budget holds for every start, on each replica', async () => {
  const rows = await server.sql<{ machine_id: string }>(
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT 'c-' || lpad(n::text, 3, '0'), '{"fake/step-ms": "40"}',
       jsonb_build_object('provider', 'fake', 'location', jsonb_build_object('rack', 'r' || n % 3)), 'READY'
     FROM generate_series(1, 45) AS n RETURNING machine_id`,
  );
  const ids = rows.map(({ machine_id }) => machine_id).sort();
  const api = server.client(RolloutService, server.adminToken);
  await api.createBudget({
    budget: { name: 'racks', groupBy: 'location.rack', maxUnavailable: String(IN_RACK) },
  });
  const [one, two] = await Promise.all([
    rollouts.create({ machineIds: ids.slice(0, 18) }),
    rollouts.create({ machineIds: ids.slice(12, 30), maxParallel: { count: 5 } }),
  ]);
  let refused = 0;
  const single = async (machineId: string, { machines }: TestServer) => {
    for (let attempt = 0; attempt < 6; attempt += 1) {
      try {
        await machines.rebootMachine({ machineId, requestId: fresh('request') });
        return;
      } catch (error) {
        if (!(error instanceof CallError) || !['BUDGET_EXCEEDED', 'OPERATION_ACTIVE'].includes(error.reason))
          throw error;
        refused += 1;
      }
    }
  };
  await Promise.all(ids.slice(24).map((id, index) => single(id, index % 2 === 0 ? server : second)));
  const ended = await Promise.all([one, two].map(({ rolloutId }) => rollouts.ended(rolloutId)));
  expect(ended.map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
  expect(refused).toBeGreaterThan(0);
  // From the log alone: starts and ends in the order of their commits.
  const events = await server.sql<{
    from_state: string;
    to_state: string;
    operation_id: string;
    rack: string;
  }>(
    `SELECT from_state, to_state, operation_id, spec #>> '{location,rack}' AS rack FROM events JOIN machines USING (machine_id)
     WHERE kind = 'operation' ORDER BY event_id`,
  );
  const active = new Map<string, string>();
  let most = 0;
  for (const { from_state, to_state, operation_id, rack } of events) {
    if (from_state === '') active.set(operation_id, rack);
    if (to_state === 'completed') active.delete(operation_id);
    most = Math.max(most, [...active.values()].filter((other) => other === rack).length);
  }
  expect(most).toBe(IN_RACK);
});
