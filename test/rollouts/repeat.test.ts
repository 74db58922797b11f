// @module-tag extended: run.test.ts has waves and retries.
/** The same request again: the same answer, whatever has happened since. Other content under its id: a refusal. */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Rollout,
  RolloutService,
  Wave_State,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { fresh, newMachine, run } from '../api/fleet.ts';
import { type Client, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let server: TestServer;
let rollouts: Client<typeof RolloutService>;
beforeAll(async () => {
  server = await startTestServer();
  rollouts = server.client(RolloutService, server.adminToken);
});
afterAll(() => server?.stop());

const REBOOT = { step: { case: 'reboot', value: {} } } as const;
const REUSED = { code: 'ALREADY_EXISTS', reason: 'REQUEST_ID_REUSED' };

async function machine(labels: Record<string, string> = {}): Promise<string> {
  return newMachine(server, { phase: 'READY', labels });
}

const untilIs = (rolloutId: string, test: (rollout: Rollout) => boolean) =>
  until(() => rollouts.getRollout({ rolloutId }), test);

/** A rollout of two waves whose first waits for approval. */
async function waiting() {
  const machineIds = await Promise.all([machine(), machine()]);
  const { rolloutId } = await rollouts.createRollout({
    requestId: fresh('create'),
    spec: { machineIds, steps: [REBOOT], waves: ['1', 'rest'], gate: 'approval' },
  });
  await untilIs(rolloutId, ({ waves }) => waves[0]?.state === Wave_State.WAITING_FOR_APPROVAL);
  return { rolloutId, machineIds };
}

interface Request {
  readonly rolloutId: string;
  readonly requestId: string;
  readonly reason: string;
}

type Act = (request: Request) => Promise<Rollout>;

/** Sends it twice, and then with other content; answers what the rollout is afterwards. */
async function twice(rolloutId: string, action: string, act: Act, other: Act): Promise<Rollout> {
  const request = { rolloutId, requestId: fresh(action), reason: 'first' };
  const first = await act(request);
  const again = await act(request);
  const count = ({ actions }: Rollout) => actions.filter((one) => one.action === action).length;
  expect([count(first), count(again)]).toEqual([1, 1]);
  expect(again.rolloutId).toBe(first.rolloutId);
  expect(await refusal(other(request))).toMatchObject(REUSED);
  expect(await refusal(act({ ...request, reason: 'second' }))).toMatchObject(REUSED);
  return again;
}

describe('acts are idempotent by their request id', () => {
  test('pause, resume and abort, also when the state has changed since', async () => {
    const { rolloutId } = await waiting();
    const pause = { rolloutId, requestId: fresh('pause'), reason: 'lunch' };
    await rollouts.pauseRollout(pause);
    await twice(rolloutId, 'resume', rollouts.resumeRollout, rollouts.pauseRollout);
    // It is running again, and the pause that is sent again does not pause it.
    expect((await rollouts.pauseRollout(pause)).state).toBe((await rollouts.getRollout({ rolloutId })).state);
    expect(await refusal(rollouts.pauseRollout({ ...pause, reason: 'dinner' }))).toMatchObject(REUSED);
    const abort = { rolloutId, requestId: fresh('abort'), reason: 'first' };
    await rollouts.abortRollout(abort);
    await untilIs(rolloutId, ({ finishedAt }) => finishedAt !== undefined);
    const again = await rollouts.abortRollout(abort);
    expect(again.actions.map(({ action }) => action)).toEqual(['create', 'pause', 'resume', 'abort']);
    expect(await refusal(rollouts.abortRollout({ ...abort, cancelRunning: true }))).toMatchObject(REUSED);
  });

  test('approve: it never opens the wave after the one that it was for', async () => {
    const { rolloutId } = await waiting();
    const approve = { rolloutId, requestId: fresh('approve'), reason: '' };
    await rollouts.approveWave(approve);
    await untilIs(rolloutId, ({ waves }) => waves[1]?.state === Wave_State.WAITING_FOR_APPROVAL);
    const again = await rollouts.approveWave(approve);
    expect(again.waves[1]).toMatchObject({ state: Wave_State.WAITING_FOR_APPROVAL, approvedBy: '' });
    expect(await refusal(rollouts.approveWave({ ...approve, wave: 2 }))).toMatchObject(REUSED);
    const reject = (wave: number) => (request: Request) => rollouts.rejectWave({ ...request, wave });
    await twice(rolloutId, 'reject', reject(0), reject(2));
  });

  test('skip and a change of limits', async () => {
    const { rolloutId, machineIds } = await waiting();
    const skip = (index: number) => (request: Request) =>
      rollouts.skipMachines({ ...request, machineIds: machineIds.slice(index, index + 1) });
    const skipped = await twice(rolloutId, 'skip', skip(0), skip(1));
    expect(skipped.machines).toMatchObject({ skipped: 1, pending: 1 });
    const limit = (maxParallel: string) => (request: Request) =>
      rollouts.updateLimits({ ...request, maxParallel });
    const changed = await twice(rolloutId, 'update-limits', limit('7'), limit('8'));
    expect(changed.spec?.maxParallel).toBe('7');
  });

  test('retry: a machine gets one more attempt, not two', { tags: ['extended'] }, async () => {
    const { rolloutId } = await rollouts.createRollout({
      requestId: fresh('create'),
      spec: { machineIds: [await machine({ 'fake/fail-step': 'reboot' })], steps: [REBOOT] },
    });
    const ended = () => untilIs(rolloutId, ({ finishedAt }) => finishedAt !== undefined);
    await ended();
    const retry = { rolloutId, requestId: fresh('retry'), reason: 'first' };
    await rollouts.retryFailed(retry);
    await ended();
    await rollouts.retryFailed(retry);
    const { machines } = await rollouts.listRolloutMachines({ rolloutId });
    expect(machines.map(({ attempts }) => attempts)).toEqual([2]);
    expect(await refusal(rollouts.retryFailed({ ...retry, errorCode: 'WRONG_PHASE' }))).toMatchObject(REUSED);
  });
});

describe('roll back', () => {
  const REIMAGE = { step: { case: 'reimage', value: { imageRef: 'ubuntu-2404' } } } as const;

  /** One machine is reimaged, and the other one waits for an approval while it is paused. */
  async function halfDone(): Promise<string> {
    const machineIds = await Promise.all([maintained(), maintained()]);
    const { rolloutId } = await rollouts.createRollout({
      requestId: fresh('create'),
      spec: { machineIds, steps: [REIMAGE], waves: ['1', 'rest'], gates: ['automatic', 'approval'] },
    });
    await untilIs(rolloutId, ({ waves }) => waves[1]?.state === Wave_State.WAITING_FOR_APPROVAL);
    return rolloutId;
  }

  async function maintained(): Promise<string> {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    await run(server, 'REIMAGE', machineId, { imageRef: 'debian-12' });
    return machineId;
  }

  test('is one new rollout, also when the state has changed since', { tags: ['extended'] }, async () => {
    const rolloutId = await halfDone();
    await rollouts.pauseRollout({ rolloutId, requestId: fresh('pause'), reason: '' });
    const first = await twice(
      rolloutId,
      'roll-back',
      async (request) => {
        await rollouts.rollBack(request);
        return rollouts.getRollout({ rolloutId });
      },
      (request) => rollouts.rollBack({ ...request, reason: 'other' }),
    );
    expect(first.rolledBackBy).toHaveLength(1);
    const back = { rolloutId, requestId: fresh('back'), reason: 'again' };
    const { rolloutId: created } = await rollouts.rollBack(back);
    await rollouts.resumeRollout({ rolloutId, requestId: fresh('resume') });
    // It is running again, and so could not be rolled back now.
    expect(await refusal(rollouts.rollBack({ ...back, requestId: fresh('back') }))).toMatchObject({
      reason: 'WRONG_ROLLOUT_STATE',
    });
    expect((await rollouts.rollBack(back)).rolloutId).toBe(created);
  });

  test('creates nothing under the id of another act', { tags: ['extended'] }, async () => {
    const rolloutId = await halfDone();
    const pause = { rolloutId, requestId: fresh('pause'), reason: 'first' };
    await rollouts.pauseRollout(pause);
    expect(await refusal(rollouts.rollBack(pause))).toMatchObject(REUSED);
    expect((await rollouts.getRollout({ rolloutId })).rolledBackBy).toEqual([]);
  });
});

describe('a deadline that has passed since', () => {
  const passed = (at: number) =>
    until(
      async () => Date.now(),
      (now) => now > at,
    );

  test('does not refuse the repeated creation, and refuses a new one', async () => {
    const machineIds = [await machine()];
    const at = Date.now() + 1_500;
    const spec = {
      machineIds,
      steps: [REBOOT],
      gate: 'approval',
      deadline: timestampFromMs(at),
    };
    const requestId = fresh('create');
    const { rolloutId } = await rollouts.createRollout({ spec, requestId });
    await passed(at);
    expect((await rollouts.createRollout({ spec, requestId })).rolloutId).toBe(rolloutId);
    expect(await refusal(rollouts.createRollout({ spec, requestId: fresh('create') }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      metadata: { field: 'spec.deadline' },
    });
    expect(await refusal(rollouts.previewRollout({ spec }))).toMatchObject({
      metadata: { field: 'spec.deadline' },
    });
  });

  test('does not refuse the repeated change of limits, and refuses a new one', {
    tags: ['extended'],
  }, async () => {
    const { rolloutId } = await waiting();
    const at = Date.now() + 1_500;
    const change = { rolloutId, requestId: fresh('change'), deadline: timestampFromMs(at) };
    await rollouts.updateLimits(change);
    await passed(at);
    expect((await rollouts.updateLimits(change)).rolloutId).toBe(rolloutId);
    const other = await waiting();
    const late = { ...change, rolloutId: other.rolloutId, requestId: fresh('change') };
    expect(await refusal(rollouts.updateLimits(late))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      metadata: { field: 'deadline' },
    });
  });
});
