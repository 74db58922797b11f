// @module-tag extended: run.test.ts carries out chains of steps; each verb is in the tests of its operation.
/** Every verb as a rollout, through the API to its end: two machines in two waves, on the fake provider and on a simulated MAAS. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Rollout,
  Rollout_State,
  RolloutMachine_State,
  RolloutService,
  type RolloutSpecSchema,
  type RolloutStepSchema,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { fresh, newMachine, run } from '../api/fleet.ts';
import { newPlan } from '../api-v1/runs.ts';
import {
  type MaasSite,
  newMachine as newMaasMachine,
  openMaasSite,
  startMaasServer,
  statusOf,
} from '../maas/fleet.ts';
import type { Client, TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

const TIME_LIMIT = 120_000;

let site: MaasSite;
let server: TestServer;
let rollouts: Client<typeof RolloutService>;
beforeAll(async () => {
  site = await openMaasSite();
  server = await startMaasServer(site);
  rollouts = server.client(RolloutService, server.adminToken);
}, TIME_LIMIT);
afterAll(async () => {
  await server?.stop();
  await site?.stop();
});

type Spec = MessageInitShape<typeof RolloutSpecSchema>;
type Step = NonNullable<MessageInitShape<typeof RolloutStepSchema>['step']>;

const untilIs = (rolloutId: string, test: (rollout: Rollout) => boolean) =>
  until(() => rollouts.getRollout({ rolloutId }), test, TIME_LIMIT);
const ended = (rolloutId: string) => untilIs(rolloutId, ({ finishedAt }) => finishedAt !== undefined);

function create(machineIds: string[], steps: readonly Step[], more: Spec = {}): Promise<Rollout> {
  return rollouts.createRollout({
    requestId: fresh('verbs'),
    spec: { machineIds, waves: ['1', 'rest'], steps: steps.map((step) => ({ step })), ...more },
  });
}

const machinesOf = async (rolloutId: string) => (await rollouts.listRolloutMachines({ rolloutId })).machines;

/** That all has succeeded, and that nothing of the second wave started before the end of the first. */
async function expectDone(rolloutId: string): Promise<void> {
  const { state, failures, waves } = await ended(rolloutId);
  expect({ state, failures }).toMatchObject({ state: Rollout_State.SUCCEEDED, failures: [] });
  expect(waves.map(({ machines }) => machines?.succeeded)).toEqual([1, 1]);
  const [first, second] = await machinesOf(rolloutId);
  expect([first?.wave, second?.wave]).toEqual([1, 2]);
  expect(Number(second?.startedAt?.seconds)).toBeGreaterThanOrEqual(Number(first?.finishedAt?.seconds));
}

async function rollOut(machineIds: string[], steps: readonly Step[]): Promise<string> {
  const { rolloutId } = await create(machineIds, steps);
  await expectDone(rolloutId);
  return rolloutId;
}

const two = <Value>(make: () => Promise<Value>): Promise<Value[]> => Promise.all([make(), make()]);

/** Who ended how in which type of operation. */
async function operationsOf(rolloutId: string): Promise<string[]> {
  const { operations } = await server.operations.listOperations({ filter: `rollout=${rolloutId}` });
  const types = await server.sql<{ type: string }>('SELECT type FROM operations WHERE rollout_id = $1', [
    rolloutId,
  ]);
  expect(operations).toHaveLength(types.length);
  return types.map(({ type }) => type).toSorted();
}

describe.concurrent('on a MAAS', { timeout: TIME_LIMIT }, () => {
  const ONBOARD: Step = { case: 'onboard', value: { pool: 'gpu' } };
  const servicesOf = (ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await statusOf(server, id)).service));

  test('onboard, with a machine that fails and is retried; then decommission, and remove', async () => {
    const machines = (await two(() => newMaasMachine(server))).toSorted((one, other) =>
      one.id < other.id ? -1 : 1,
    );
    const ids = machines.map(({ id }) => id);
    const [fine = '', failing = ''] = ids;
    await site.simulator.admin.fault({ fault: 'deployment_failure', mac: machines[1]?.mac ?? '' });
    const { rolloutId } = await create(ids, [ONBOARD]);
    const failed = await ended(rolloutId);
    expect(failed).toMatchObject({
      state: Rollout_State.FAILED,
      failures: [{ errorCode: 'DEPLOYMENT_FAILED', machines: 1 }],
      machines: { succeeded: 1, failed: 1 },
    });
    expect(await statusOf(server, fine)).toMatchObject({ service: 'active' });
    await rollouts.retryFailed({ rolloutId, requestId: fresh('retry'), errorCode: 'DEPLOYMENT_FAILED' });
    await expectDone(rolloutId);
    expect(await machinesOf(rolloutId)).toMatchObject([
      { machineId: fine, attempts: 1 },
      { machineId: failing, attempts: 2, errorCode: '', message: '' },
    ]);
    expect(await servicesOf(ids)).toEqual(['active', 'active']);
    await rollOut(ids, [{ case: 'decommission', value: { mode: 'reimage' } }]);
    expect(await servicesOf(ids)).toEqual(['retired', 'retired']);
    const removal = await rollOut(ids, [{ case: 'remove', value: {} }]);
    expect(await servicesOf(ids)).toEqual(['deleted', 'deleted']);
    expect(await operationsOf(removal)).toEqual(['REMOVE', 'REMOVE']);
  });

  test('onboard and drain in one chain', { tags: ['extended'] }, async () => {
    const ids = (await two(() => newMaasMachine(server))).map(({ id }) => id);
    const rolloutId = await rollOut(ids, [ONBOARD, { case: 'drain', value: {} }]);
    expect(await servicesOf(ids)).toEqual(['retired', 'retired']);
    expect(await operationsOf(rolloutId)).toEqual(['DRAIN', 'DRAIN', 'ONBOARD', 'ONBOARD']);
  });
});

describe.concurrent('on the fake provider', { timeout: TIME_LIMIT }, () => {
  const fake = { provider: 'fake' };

  test('erase', async () => {
    const ids = await two(() => newMachine(server, { phase: 'MAINTENANCE', spec: fake }));
    await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = ANY($1)`, [ids]);
    const rolloutId = await rollOut(ids, [{ case: 'erase', value: { overwrite: 'whole' } }]);
    const rows = await server.sql('SELECT install FROM machines WHERE machine_id = ANY($1)', [ids]);
    expect(rows).toEqual([{ install: 'retired' }, { install: 'retired' }]);
    expect(await operationsOf(rolloutId)).toEqual(['ERASE', 'ERASE']);
  });

  test('a plan of the v1 API', { tags: ['extended'] }, async () => {
    const ids = await two(() => newMachine(server, { spec: fake }));
    const { planId } = await newPlan(server, [
      { name: 'reboot', kind: { case: 'reboot', value: {} } },
      { name: 'join', kind: { case: 'join', value: { clusterRef: 'cluster-b' } } },
    ]);
    const rolloutId = await rollOut(ids, [{ case: 'plan', value: { planId, type: 'JOIN' } }]);
    const rows = await server.sql<{ plan_id: string; status: string }>(
      'SELECT plan_id, status FROM operations WHERE rollout_id = $1',
      [rolloutId],
    );
    expect(rows).toEqual(Array(2).fill({ plan_id: planId, status: 'completed' }));
  });

  test('verify: a condition that holds for a time; one that does not in time is retried', {
    tags: ['extended'],
  }, async () => {
    const ids = (await two(() => newMachine(server, { phase: 'MAINTENANCE', spec: fake }))).toSorted();
    const [first = '', second = ''] = ids;
    await run(server, 'REIMAGE', first);
    const value = { condition: 'Provisioned', for: '1s', timeout: '4s' };
    const { rolloutId } = await create(ids, [{ case: 'verify', value }]);
    expect(await ended(rolloutId)).toMatchObject({
      state: Rollout_State.FAILED,
      failures: [{ errorCode: 'NOT_VERIFIED', machines: 1 }],
    });
    const [verified, refused] = await machinesOf(rolloutId);
    expect(verified).toMatchObject({ machineId: first, state: RolloutMachine_State.SUCCEEDED });
    const ms = (at: { seconds: bigint; nanos: number } | undefined) =>
      at ? Number(at.seconds) * 1000 + at.nanos / 1e6 : Number.NaN;
    expect(ms(verified?.finishedAt) - ms(verified?.startedAt)).toBeGreaterThanOrEqual(1000);
    expect(refused).toMatchObject({
      machineId: second,
      message: 'conditions.Provisioned=true did not hold for 1 s within 4 s',
    });
    await run(server, 'REIMAGE', second);
    await rollouts.retryFailed({ rolloutId, requestId: fresh('retry') });
    await expectDone(rolloutId);
    expect(await operationsOf(rolloutId)).toEqual([]);
  });

  test('a reimage rolls back to the image that each machine had before', async () => {
    const ids = (await two(() => newMachine(server, { phase: 'MAINTENANCE', spec: fake }))).toSorted();
    for (const [index, machineId] of ids.entries())
      await run(server, 'REIMAGE', machineId, { imageRef: `debian-1${index}` });
    for (const machineId of ids) await run(server, 'EXIT_MAINTENANCE', machineId);
    const chain: Step[] = [
      { case: 'enterMaintenance', value: { reason: 'new image' } },
      { case: 'reimage', value: { imageRef: 'ubuntu-2404' } },
      { case: 'exitMaintenance', value: {} },
    ];
    const rolloutId = await rollOut(ids, chain);
    const back = await rollouts.rollBack({ rolloutId, requestId: fresh('back'), reason: 'bad kernel' });
    expect(back).toMatchObject({ rollsBack: rolloutId, spec: { reason: 'bad kernel', machineIds: ids } });
    await expectDone(back.rolloutId);
    const images = await server.sql<{ machine_id: string; image: string }>(
      `SELECT machine_id, params ->> 'image_ref' AS image FROM operations
       WHERE rollout_id = $1 AND type = 'REIMAGE' ORDER BY machine_id`,
      [back.rolloutId],
    );
    expect(images).toEqual(ids.map((machine_id, index) => ({ machine_id, image: `debian-1${index}` })));
    const { machines } = await server.machines.listMachines({
      filter: `rollout=${back.rolloutId} AND phase=READY`,
    });
    expect(machines.map(({ machineId }) => machineId).toSorted()).toEqual(ids);
    expect((await rollouts.getRollout({ rolloutId })).rolledBackBy).toEqual([back.rolloutId]);
  });
});
