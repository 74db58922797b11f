// @module-tag extended: run.test.ts has a rollout that stops.
/** Stop rules by failures, and a rollout that follows its filter, through the API to their end. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Rollout,
  Rollout_State,
  RolloutMachine_State,
  RolloutService,
  type StopRulesSchema,
  Wave_State,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { fresh, newMachine } from '../api/fleet.ts';
import { type Client, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let server: TestServer;
let rollouts: Client<typeof RolloutService>;
beforeAll(async () => {
  server = await startTestServer({ maxProbeMs: 50 });
  rollouts = server.client(RolloutService, server.adminToken);
});
afterAll(() => server?.stop());

const steps = [{ step: { case: 'reboot', value: {} } }] as const;
const untilIs = (rolloutId: string, test: (rollout: Rollout) => boolean) =>
  until(() => rollouts.getRollout({ rolloutId }), test);
const aborted = async (rolloutId: string) => {
  await rollouts.abortRollout({ rolloutId, requestId: fresh('abort') });
  return untilIs(rolloutId, ({ finishedAt }) => finishedAt !== undefined);
};
const operationsOf = async (rolloutId: string) =>
  (await server.operations.listOperations({ filter: `rollout=${rolloutId}` })).operations;

/** READY machines in the order of their turn. */
async function machines(labels: readonly Readonly<Record<string, string>>[]): Promise<string[]> {
  const name = fresh('stops');
  const rows = await server.sql<{ machine_id: string }>(
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT $1 || '-' || n, '{"fake/step-ms": "1"}'::jsonb || label, '{"provider": "fake"}', 'READY'
     FROM jsonb_array_elements($2::jsonb) WITH ORDINALITY AS i(label, n) RETURNING machine_id`,
    [name, JSON.stringify(labels)],
  );
  return rows.map(({ machine_id }) => machine_id).toSorted();
}

const FAILS = { 'fake/fail-step': 'reboot' };
const HANGS = { 'fake/hang-step': 'reboot' };

describe('failures stop it, and nothing more starts', () => {
  async function create(ids: string[], stop: MessageInitShape<typeof StopRulesSchema>): Promise<string> {
    const spec = { machineIds: ids, steps: [...steps], waves: ['5', 'rest'], maxParallel: '1', stop };
    return (await rollouts.createRollout({ spec, requestId: fresh('stop') })).rolloutId;
  }

  /** Also not before its end. */
  async function expectStop(rolloutId: string, started: readonly string[]): Promise<Rollout> {
    const stopped = await untilIs(rolloutId, ({ state }) => state === Rollout_State.STOPPED);
    expect(stopped.machines).toMatchObject({
      failed: started.length,
      running: 0,
      pending: 7 - started.length,
    });
    await aborted(rolloutId);
    const touched = (await operationsOf(rolloutId)).map(({ machineId }) => machineId);
    expect(touched.toSorted()).toEqual(started);
    return stopped;
  }

  test.each([
    [{ afterFailures: 2 }, '2 machines failed, and it stops after 2 (after_failures)'],
    [{ failurePercent: 20 }, '2 of 5 machines of wave 1 failed, more than 20 % (failure_percent)'],
  ])('%j', async (stop, reason) => {
    const ids = await machines(Array(7).fill(FAILS));
    const stopped = await expectStop(await create(ids, stop), ids.slice(0, 2));
    expect(stopped.reason).toBe(reason);
  });

  test('same_error: failures with another code do not count', async () => {
    const ids = await machines([HANGS, ...Array(6).fill(FAILS)]);
    const rolloutId = await create(ids, { sameError: 2 });
    const [hanging] = await until(
      () => operationsOf(rolloutId),
      (all) => all.length === 1,
    );
    await server.machines.cancelOperation({ operationId: hanging?.operationId ?? '' });
    const stopped = await expectStop(rolloutId, ids.slice(0, 3));
    expect(stopped.failures.map(({ machines: count }) => count).toSorted()).toEqual([1, 2]);
    const code = stopped.failures.find(({ machines: count }) => count === 2)?.errorCode;
    expect(stopped.reason).toBe(`2 machines failed with ${code}, and it stops at 2 (same_error)`);
  });
});

test('a wave of a rollout that was aborted soaks no more', async () => {
  const ids = await machines([{}, {}]);
  const { rolloutId } = await rollouts.createRollout({
    spec: { machineIds: ids, steps: [...steps], waves: ['1', 'rest'], soak: '10m' },
    requestId: fresh('soak'),
  });
  await untilIs(rolloutId, ({ waves }) => waves[0]?.state === Wave_State.SOAKING);
  const { waves, waitingFor } = await aborted(rolloutId);
  expect(waves.map(({ state, soaksUntil }) => [state, soaksUntil])).toEqual([
    [Wave_State.DONE, undefined],
    [Wave_State.WAITING, undefined],
  ]);
  expect(waitingFor).toBe('');
});

describe('follow', () => {
  test('a machine that comes to match joins the last wave once it can take the first step', async () => {
    const role = fresh('role');
    const first = await newMachine(server, { phase: 'READY', labels: { role } });
    const { rolloutId } = await rollouts.createRollout({
      spec: { filter: `labels.role=${role}`, follow: true, steps: [...steps], waves: ['1', 'rest'] },
      requestId: fresh('follow'),
    });
    await untilIs(rolloutId, ({ machines: counts }) => counts?.succeeded === 1);
    const joining = await newMachine(server, { phase: 'READY' });
    const notReady = await newMachine(server);
    for (const machineId of [notReady, joining])
      await server.machines.updateMachine({
        machine: { machineId, labels: { 'fake/step-ms': '1', role } },
        updateMask: { paths: ['labels'] },
      });
    const followed = await untilIs(rolloutId, ({ machines: counts }) => counts?.succeeded === 2);
    expect(followed).toMatchObject({ state: Rollout_State.RUNNING, machines: { total: 2 } });
    const { machines: all } = await rollouts.listRolloutMachines({ rolloutId });
    expect(all.map(({ machineId }) => machineId)).toEqual([first, joining]);
    const end = await aborted(rolloutId);
    expect(end).toMatchObject({ state: Rollout_State.ABORTED, machines: { succeeded: 2, total: 2 } });
    expect(all[1]).toMatchObject({ state: RolloutMachine_State.SUCCEEDED, attempts: 1 });
  });
});
