// @module-tag extended: api.test.ts previews.
/** PreviewRollout: one call tells everything, and changes nothing. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  RolloutService,
  type RolloutSpecSchema,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { fresh, newMachine, run } from '../api/fleet.ts';
import { type Client, startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;
let rollouts: Client<typeof RolloutService>;
beforeAll(async () => {
  server = await startTestServer();
  rollouts = server.client(RolloutService, server.adminToken);
});
afterAll(() => server?.stop());

const REBOOT = { step: { case: 'reboot', value: {} } } as const;
const REIMAGE = { step: { case: 'reimage', value: { imageRef: 'ubuntu-2404' } } } as const;

const preview = (spec: MessageInitShape<typeof RolloutSpecSchema>) => rollouts.previewRollout({ spec });

/** Machines of one role, with their racks. */
async function machines(racks: readonly string[], phase: 'READY' | 'MAINTENANCE' = 'READY') {
  const role = fresh('role');
  const ids = await Promise.all(
    racks.map((rack) => newMachine(server, { phase, labels: { role }, spec: { location: { rack } } })),
  );
  return { ids, filter: `labels.role=${role}` };
}

test('machines by wave, and those that would be refused with the reason of a single start', async () => {
  const ready = await machines(['a', 'a', 'a', 'b']);
  const [blocked = ''] = ready.ids;
  await server.admin.flagMachine({ machineId: blocked, flag: 1, reason: 'broken' });
  const shown = await preview({
    filter: ready.filter,
    steps: [REBOOT],
    waves: ['1', 'rest'],
    gates: ['', 'approval'],
  });
  expect(shown).toMatchObject({ total: 4, eligible: 3, refusals: [] });
  expect(shown.waves.map(({ name, machines: count, gate }) => [name, count, gate])).toEqual([
    ['1', 1, 'automatic'],
    ['rest', 2, 'approval'],
  ]);
  expect(shown.waves.flatMap(({ machineIds }) => machineIds).toSorted()).toEqual(
    ready.ids.slice(1).toSorted(),
  );
  expect(shown.ineligible).toMatchObject([
    { errorCode: 'MACHINE_BLOCKED', machines: 1, machineIds: [blocked] },
  ]);
  expect(shown.spec).toMatchObject({ name: 'reboot', soak: '0s', gate: 'automatic' });
  expect((await rollouts.listRollouts({})).rollouts).toEqual([]);
});

test('a later step is asked on the machine as it will be then', async () => {
  const ready = await machines(['a']);
  const enter = { step: { case: 'enterMaintenance', value: {} } } as const;
  expect(await preview({ filter: ready.filter, steps: [enter, REIMAGE] })).toMatchObject({
    eligible: 1,
    warnings: expect.arrayContaining([expect.stringMatching(/stay out of service/)]),
  });
  const refused = await preview({ filter: ready.filter, steps: [REIMAGE] });
  expect(refused).toMatchObject({
    eligible: 0,
    ineligible: [{ errorCode: 'WRONG_PHASE' }],
    refusals: [expect.stringMatching(/would change no machine/)],
  });
});

test('limits and budgets that bind, and the machines that occupy them', async () => {
  const { ids, filter } = await machines(['r1', 'r1', 'r2']);
  const [first = ''] = ids;
  await run(server, 'ENTER_MAINTENANCE', first);
  const budget = fresh('budget');
  await rollouts.createBudget({ budget: { name: budget, filter, maxUnavailable: '50%' } });
  const limits = [{ groupBy: 'location.rack', filter, maxUnavailable: '1' }];
  const shown = await preview({ filter, steps: [REBOOT], maxParallel: '2', limits });
  expect(shown.limits.map(({ use }) => use)).toMatchObject([
    { name: 'max_parallel', kind: 'max_parallel', used: 0, limit: 2 },
    { name: 'location.rack', kind: 'limit', group: 'r1', used: 1, limit: 1 },
    { name: budget, kind: 'budget', group: '', used: 1, limit: 1 },
  ]);
  expect(shown.limits[1]).toMatchObject({
    occupiedBy: [first],
    message: expect.stringMatching(/1 of 2 groups are full, such as location.rack r1/),
  });
  expect(shown.warnings).toContain('1 machine unavailable already');
  const spec = { filter, steps: [REBOOT], maxParallel: '2', limits, gate: 'approval' };
  const { rolloutId } = await rollouts.createRollout({ spec, requestId: fresh('create') });
  const { limits: used } = await rollouts.getRollout({ rolloutId });
  expect(used).toMatchObject([
    { name: 'max_parallel', used: 0, limit: 2 },
    { name: 'location.rack', group: 'r1', used: 1, limit: 1 },
    { name: budget, used: 1, limit: 1 },
  ]);
  await rollouts.abortRollout({ rolloutId, requestId: fresh('abort') });
  await rollouts.deleteBudget({ name: budget });
});

test('how long it takes, from the operations of the same types', async () => {
  const { ids, filter } = await machines(['a', 'b', 'c', 'd']);
  // Ten reboots of 10, 20, … 100 seconds, and one before the last 90 days.
  await server.sql(
    `INSERT INTO operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract, params, steps,
       started_by, created_at, started_at, finished_at)
     SELECT 'op-0' || n, $1, 'history-' || n, '', 'REBOOT', 'completed', 'operation', '{}', '[]', 'admin:a', at, at,
       at + n * interval '10 seconds'
     FROM (SELECT n, now() - CASE WHEN n = 11 THEN interval '91 days' ELSE interval '1 day' END AS at
       FROM generate_series(1, 11) AS n) AS history`,
    [ids[0]],
  );
  const one = await preview({ filter, steps: [REBOOT] });
  expect(one.estimate).toMatchObject({ samples: 10, p50Seconds: 55n, p90Seconds: 91n, unknownSteps: [] });
  const waves = await preview({
    filter,
    steps: [REBOOT],
    waves: ['1', 'rest'],
    soak: '1m',
    maxParallel: '2',
  });
  // One round of the first wave, two of the second, and the soak time between them.
  expect(waves.estimate).toMatchObject({ p50Seconds: 225n, p90Seconds: 333n });
  // Gates: as long as approvals took, once there was one.
  const gated = { filter, steps: [REBOOT], waves: ['1', 'rest'], gates: ['', 'approval'] };
  expect((await preview(gated)).estimate).toMatchObject({ p50Seconds: 110n, unknownGates: 1 });
  const { rolloutId } = await rollouts.createRollout({
    spec: { filter, steps: [REBOOT], gate: 'approval' },
    requestId: fresh('create'),
  });
  await rollouts.abortRollout({ rolloutId, requestId: fresh('abort') });
  await server.sql(
    `UPDATE rollout_waves SET approved_at = coalesce(r.started_at, r.created_at) + interval '100 seconds' FROM rollouts r
     WHERE r.rollout_id = $1 AND rollout_waves.rollout_id = $1`,
    [rolloutId],
  );
  expect((await preview(gated)).estimate).toMatchObject({ p50Seconds: 210n, unknownGates: 0 });
  const exit = { step: { case: 'exitMaintenance', value: {} } } as const;
  const maintained = await machines(['a'], 'MAINTENANCE');
  await server.sql(`DELETE FROM operations WHERE type = 'EXIT_MAINTENANCE'`);
  const unknown = await preview({ filter: maintained.filter, steps: [REBOOT, exit] });
  expect(unknown.estimate?.unknownSteps).toEqual(['exit-maintenance']);
});

test('when it could start: at the start of the next window', async () => {
  const { filter } = await machines(['a']);
  const now = new Date();
  const tomorrow = new Date(now.getTime() + 86_400_000).toISOString().slice(0, 10);
  const blackouts = [{ from: now.toISOString().slice(0, 10), to: tomorrow }];
  const shown = await preview({ filter, steps: [REBOOT], blackouts });
  const midnight = Date.parse(`${tomorrow}T00:00:00Z`) + 86_400_000;
  expect(Number(shown.startsAt?.seconds) * 1000).toBe(midnight);
});

test('a viewer sees all of it, and that it may not create the rollout', async () => {
  const { filter } = await machines(['a']);
  const { secret } = await server.admin.createToken({ name: fresh('viewer'), role: 'viewer' });
  const shown = await server
    .client(RolloutService, secret)
    .previewRollout({ spec: { filter, steps: [REBOOT] } });
  expect(shown).toMatchObject({ eligible: 1, refusals: [expect.stringMatching(/needs the right to call/)] });
});
