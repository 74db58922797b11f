/** What becomes of a run, and of its machine. */
import { setTimeout as sleep } from 'node:timers/promises';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operationIdOf } from '../../src/domain/v1/run-id.ts';
import type { Run, StepStatus } from '../../src/gen/baremetal/v1/run_pb.ts';
import {
  fakeStateOf,
  get,
  holdNewOperations,
  newMachine,
  run as runOperation,
  start,
  statusOf,
  waitingAt,
} from '../api/fleet.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  CLUSTER,
  newPlan,
  run,
  runAt,
  runEnded,
  runPhase,
  startRun,
  stepStates,
  type V1,
  v1Of,
  view,
} from './runs.ts';

let server: TestServer;
let v1: V1;
/** Four steps that are tried once each: whatever fails, fails at once. */
let brittle: string;
/** A plan of one step that any type may take. */
let restart: string;

beforeAll(async () => {
  server = await startTestServer();
  v1 = v1Of(server);
  const once = { maxRetries: 0 };
  const plan = await newPlan(server, [
    { ...once, name: 'boot-net', kind: { case: 'netboot', value: {} } },
    { ...once, name: 'write', kind: { case: 'repave', value: { image: 'debian-13' } } },
    { ...once, name: 'restart', kind: { case: 'reboot', value: {} } },
    { ...once, name: 'greet', kind: { case: 'ssh', value: { command: 'hello', repeatable: true } } },
  ]);
  brittle = plan.planId;
  restart = (await newPlan(server, [{ name: 'restart', kind: { case: 'reboot', value: {} } }])).planId;
});
afterAll(() => server?.stop());

function at(step: StepStatus | undefined, moment: 'startedAt' | 'finishedAt'): number {
  const time = step?.[moment];
  if (!time) throw new Error(`${step?.name} has no ${moment}`);
  return timestampMs(time);
}

async function cancel(runId: string, reason = ''): Promise<Run> {
  return runEnded(v1, await v1.runs.cancelRun({ runId, reason }));
}

describe('a run that succeeds', () => {
  test('takes its steps strictly one after the other, and says when and how', async () => {
    const machineId = await newMachine(server, { spec: CLUSTER, labels: { 'fake/step-ms': '20' } });
    const done = await run(v1, 'REPAVE', machineId);
    expect(runPhase(done)).toBe('SUCCEEDED');
    expect(stepStates(done)).toEqual(Array(5).fill('SUCCEEDED'));
    for (const [index, step] of done.steps.entries()) {
      expect(at(step, 'finishedAt')).toBeGreaterThanOrEqual(at(step, 'startedAt'));
      const next = done.steps[index + 1];
      if (next) expect(at(next, 'startedAt')).toBeGreaterThanOrEqual(at(step, 'finishedAt'));
      expect([step.retryCount, step.message]).toEqual([0, expect.stringMatching(/./)]);
    }
    expect(done).toMatchObject({ currentStep: '', progressPercent: 100, cancelRequested: false });
    expect(done.error).toBeUndefined();
    expect(timestampMs(done.finishedAt as never)).toBeGreaterThanOrEqual(
      timestampMs(done.startedAt as never),
    );
    const order = await server.sql<{ move: string }>(
      `SELECT subject || ' ' || to_state AS move FROM events WHERE operation_id = $1 AND kind = 'step' ORDER BY event_id`,
      [operationIdOf(done.runId)],
    );
    expect(order.map(({ move }) => move)).toEqual(
      done.steps.flatMap(({ name }) => [`${name} running`, `${name} succeeded`]),
    );
  });

  test('that joined and verified leaves the machine IN_SERVICE', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE', spec: CLUSTER });
    await run(v1, 'REPAVE', machineId);
    expect(await view(v1, machineId)).toMatchObject({
      phase: 'IN_SERVICE',
      effectiveState: 'IN_SERVICE',
      activeRunId: '',
      banners: [],
      conditions: { InCustomerCluster: true, Provisioned: true },
    });
    expect(statusOf(await get(server, machineId))).toMatchObject({ phase: 'READY', effectiveState: 'IDLE' });
    expect(await fakeStateOf(server, machineId)).toMatchObject({
      image: 'ubuntu-2204',
      clusterRef: 'cluster-a',
      bootDevice: 'disk',
      bootCount: 2,
    });
  });

  test.each(['FACTORY_READY', 'READY', 'MAINTENANCE'] as const)(
    'of type REBOOT, UPGRADE or NET_RECONFIG leaves a machine that was %s as it was',
    async (phase) => {
      const machineId = await newMachine(server, { phase });
      for (const type of ['REBOOT', 'UPGRADE', 'NET_RECONFIG']) {
        expect(runPhase(await run(v1, type, machineId, { planId: restart }))).toBe('SUCCEEDED');
        expect(await view(v1, machineId)).toMatchObject({ phase, effectiveState: phase });
        expect(statusOf(await get(server, machineId)).phase).toBe(phase);
      }
    },
  );

  test.each([
    ['REPAVE', 'READY', 'READY'],
    ['JOIN', 'READY', 'READY'],
    ['RMA', 'RMA', 'MAINTENANCE'],
  ] as const)('of type %s leaves %s, whatever its plan does', async (type, phase, stored) => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    expect(runPhase(await run(v1, type, machineId, { planId: restart }))).toBe('SUCCEEDED');
    expect(await view(v1, machineId)).toMatchObject({ phase, effectiveState: phase });
    expect(statusOf(await get(server, machineId)).phase).toBe(stored);
  });

  test('of type REBOOT leaves a machine in service IN_SERVICE', async () => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    await run(v1, 'JOIN', machineId);
    await run(v1, 'REBOOT', machineId);
    expect((await view(v1, machineId)).phase).toBe('IN_SERVICE');
  });

  test('in writing a fresh image takes the machine out of its cluster', async () => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    await run(v1, 'JOIN', machineId);
    expect((await view(v1, machineId)).phase).toBe('IN_SERVICE');
    await run(v1, 'REPAVE', machineId, { planId: brittle });
    expect(await view(v1, machineId)).toMatchObject({ phase: 'READY', conditions: { Provisioned: true } });
  });

  test('of each other type does its work on a fake machine', async () => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    for (const [type, steps] of [
      ['JOIN', 2],
      ['NET_RECONFIG', 2],
      ['UPGRADE', 6],
      ['REBOOT', 1],
    ] as const) {
      const done = await run(v1, type, machineId);
      expect([type, runPhase(done), stepStates(done)]).toEqual([
        type,
        'SUCCEEDED',
        Array(steps).fill('SUCCEEDED'),
      ]);
      expect((await view(v1, machineId)).phase).toBe('IN_SERVICE');
    }
  });

  test('of type RMA switches the machine off and leaves it in RMA', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    const done = await run(v1, 'RMA', machineId);
    expect(done.steps.map(({ name, message }) => [name, message])).toEqual([
      ['drain-check', 'nothing runs on the machine: it belongs to no cluster'],
      ['graceful-shutdown', 'the machine is off'],
      ['mark-rma', 'flagged RMA'],
    ]);
    expect(await view(v1, machineId)).toMatchObject({
      phase: 'RMA',
      effectiveState: 'RMA',
      conditions: { RMA: true },
    });
    expect(statusOf(await get(server, machineId))).toMatchObject({
      phase: 'MAINTENANCE',
      effectiveState: 'BLOCKED',
    });
    expect((await fakeStateOf(server, machineId)).power).toBe('off');
  });
});

describe('a run that fails', () => {
  test('stops at the first step that fails, and leaves the machine in MAINTENANCE with a need', async () => {
    const machineId = await newMachine(server, {
      phase: 'READY',
      labels: { 'fake/step-ms': '30', 'fake/fail-step': 'write' },
    });
    const failed = await run(v1, 'REPAVE', machineId, { planId: brittle });
    expect(runPhase(failed)).toBe('FAILED');
    expect(stepStates(failed)).toEqual(['SUCCEEDED', 'FAILED', 'WAITING', 'WAITING']);
    const [, write, restart] = failed.steps;
    expect(write).toMatchObject({ retryCount: 0, message: expect.stringContaining('I/O error') });
    expect(at(write, 'finishedAt')).toBeGreaterThanOrEqual(at(write, 'startedAt'));
    expect([restart?.startedAt, restart?.finishedAt, restart?.message]).toEqual([undefined, undefined, '']);
    expect(failed.error).toMatchObject({
      code: 'EXECUTION_FAILED',
      message: expect.stringContaining('I/O error'),
      retryable: true,
      details: { step: 'write', attempts: '1' },
    });
    expect(await view(v1, machineId)).toMatchObject({
      phase: 'MAINTENANCE',
      effectiveState: 'MAINTENANCE',
      activeRunId: '',
      banners: ['NeedsIntervention'],
      conditions: { NeedsIntervention: true, Provisioned: false },
    });
    expect(statusOf(await get(server, machineId))).toMatchObject({
      phase: 'MAINTENANCE',
      effectiveState: 'ATTENTION',
    });
    expect((await fakeStateOf(server, machineId)).bootCount).toBe(1);
  });

  test.each(['boot-net', 'restart', 'greet'])('at %s runs nothing after it', async (step) => {
    const machineId = await newMachine(server, { labels: { 'fake/fail-step': step } });
    const failed = await run(v1, 'REPAVE', machineId, { planId: brittle });
    const index = ['boot-net', 'write', 'restart', 'greet'].indexOf(step);
    expect(stepStates(failed)).toEqual([
      ...Array(index).fill('SUCCEEDED'),
      'FAILED',
      ...Array(3 - index).fill('WAITING'),
    ]);
    expect((await view(v1, machineId)).phase).toBe('MAINTENANCE');
  });

  test('at its last try is fixed by a later run of the same type', async () => {
    const machineId = await newMachine(server, { labels: { 'fake/fail-step': 'restart' } });
    await run(v1, 'REPAVE', machineId, { planId: brittle });
    await server.machines.updateMachine({
      machine: { machineId },
      updateMask: { paths: ['labels.fake/fail-step'] },
    });
    expect(runPhase(await run(v1, 'REPAVE', machineId, { planId: brittle }))).toBe('SUCCEEDED');
    expect(await view(v1, machineId)).toMatchObject({
      phase: 'READY',
      banners: [],
      conditions: { NeedsIntervention: false },
    });
  });

  test('only now and then is tried again, and counts how often', async () => {
    const machineId = await newMachine(server, { labels: { 'fake/fail-step': 'reboot:1' } });
    const { runId } = await startRun(v1, 'REBOOT', machineId);
    const between = await until(
      () => v1.runs.getRun({ runId }),
      ({ steps }) => steps[0]?.message.includes('failed') ?? false,
    );
    expect([runPhase(between), stepStates(between), between.currentStep]).toEqual([
      'RUNNING',
      ['RUNNING'],
      'reboot',
    ]);
    expect(between.steps[0]?.message).toContain('attempt 1 of 2 failed');
    const done = await runEnded(v1, { runId });
    expect([runPhase(done), done.steps[0]?.retryCount]).toEqual(['SUCCEEDED', 1]);
  });

  test('for want of time says so', async () => {
    const machineId = await newMachine(server, { labels: { 'fake/hang-step': 'reboot' } });
    const { planId } = await newPlan(server, [
      { name: 'reboot', timeoutSeconds: 1, maxRetries: 0, kind: { case: 'reboot', value: {} } },
    ]);
    const { runId } = await startRun(v1, 'REBOOT', machineId, { planId });
    const failed = await until(
      async () => {
        // The hanging fake says to observe again in a minute; the test observes it sooner.
        await server.sql('UPDATE operations SET due_at = now() WHERE operation_id = $1 AND owner IS NULL', [
          operationIdOf(runId),
        ]);
        await sleep(100);
        return v1.runs.getRun({ runId });
      },
      ({ finishedAt }) => finishedAt !== undefined,
    );
    expect(failed.error).toMatchObject({
      code: 'TIMED_OUT',
      message: 'not done within 1 s (waiting for the machine to come back)',
    });
    expect((await view(v1, machineId)).phase).toBe('MAINTENANCE');
  });
});

describe('a run that is canceled', () => {
  test.each(['set-netboot', 'repave-os', 'reboot', 'join-cluster', 'verify'])(
    'in the step %s leaves the machine in MAINTENANCE and says so',
    { tags: ['extended'] },
    async (step) => {
      const machineId = await newMachine(server, { spec: CLUSTER, labels: { 'fake/hang-step': step } });
      const { runId } = await startRun(v1, 'REPAVE', machineId);
      await waitingAt(server, { operationId: runId }, step);
      const at = await v1.runs.getRun({ runId });
      expect([runPhase(at), at.currentStep]).toEqual(['RUNNING', step]);
      const canceled = await cancel(runId, 'wrong machine');
      expect(runPhase(canceled)).toBe('CANCELED');
      expect(canceled).toMatchObject({ cancelRequested: true, currentStep: '' });
      expect(canceled.error).toBeUndefined();
      const later = canceled.steps.slice(canceled.steps.findIndex(({ name }) => name === step) + 1);
      expect(stepStates({ ...canceled, steps: later })).toEqual(later.map(() => 'WAITING'));
      expect(await view(v1, machineId)).toMatchObject({
        phase: 'MAINTENANCE',
        effectiveState: 'MAINTENANCE',
        activeRunId: '',
        banners: [],
        conditions: { OperationCanceled: true },
      });
      expect((await view(v1, machineId)).conditions).not.toHaveProperty('NeedsIntervention');
      expect((await fakeStateOf(server, machineId)).bootDevice).toBe('disk');
    },
  );

  test('in the middle of a command ends at once', async () => {
    const machineId = await newMachine(server, { labels: { 'fake/hang-step': 'greet' } });
    const { runId } = await startRun(v1, 'REPAVE', machineId, { planId: brittle });
    await runAt(v1, { runId }, 'greet');
    expect(runPhase(await cancel(runId))).toBe('CANCELED');
  });

  test('through the other API is canceled too', async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
    const { runId } = await startRun(v1, 'REBOOT', machineId);
    await waitingAt(server, { operationId: runId }, 'reboot');
    await server.machines.cancelOperation({ operationId: runId });
    expect(runPhase(await runEnded(v1, { runId }))).toBe('CANCELED');
    expect((await view(v1, machineId)).phase).toBe('MAINTENANCE');
  });

  test('and is an operation of v2 keeps to what v2 promises', async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
    const { operationId } = await start(server, 'REBOOT', machineId);
    await waitingAt(server, { operationId }, 'reboot');
    expect(runPhase(await cancel(operationId))).toBe('CANCELED');
    expect(await view(v1, machineId)).toMatchObject({
      phase: 'READY',
      conditions: { OperationCanceled: true },
    });
  });

  test('twice is canceled once', async () => {
    const machineId = await newMachine(server, { labels: { 'fake/hang-step': 'reboot' } });
    const { runId } = await startRun(v1, 'REBOOT', machineId);
    const canceled = await cancel(runId, 'first');
    const machine = await v1.machines.getMachine({ machineId });
    expect(await v1.runs.cancelRun({ runId, reason: 'second' })).toEqual(canceled);
    expect((await v1.machines.getMachine({ machineId })).status?.phase).toEqual(machine.status?.phase);
  });

  test('too late is not canceled', async () => {
    const machineId = await newMachine(server, { labels: { 'fake/fail-step': 'greet' } });
    const failed = await run(v1, 'REPAVE', machineId, { planId: brittle });
    const succeeded = await run(v1, 'REBOOT', machineId);
    for (const [{ runId }, status] of [
      [failed, 'failed_retryable'],
      [succeeded, 'completed'],
    ] as const) {
      expect(await refusal(v1.runs.cancelRun({ runId }))).toMatchObject({
        code: 'FAILED_PRECONDITION',
        reason: 'OPERATION_FINISHED',
        metadata: { operation_id: runId, status },
      });
      expect((await v1.runs.getRun({ runId })).cancelRequested).toBe(false);
    }
  });

  test('is not found where it does not exist', async () => {
    for (const call of [
      () => v1.runs.cancelRun({ runId: 'op-none' }),
      () => v1.runs.getRun({ runId: 'op-none' }),
    ])
      expect(await refusal(call())).toMatchObject({ code: 'NOT_FOUND', reason: 'OPERATION_NOT_FOUND' });
  });
});

test('an operation of v2 that fails leaves the phase that v1 shows', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/fail-step': 'reboot' } });
  const failed = await runOperation(server, 'REBOOT', machineId);
  expect(failed.error?.details).toMatchObject({ step: 'reboot' });
  expect(await view(v1, machineId)).toMatchObject({ phase: 'READY', banners: ['NeedsIntervention'] });
});

// Last, because it changes the database under all that come after it.
test('a run that no replica has claimed is canceled at once, and the machine is in MAINTENANCE', async () => {
  const machineId = await newMachine(server, { phase: 'READY' });
  await holdNewOperations(server);
  const { runId } = await startRun(v1, 'REBOOT', machineId);
  expect(await view(v1, machineId)).toMatchObject({ phase: 'PROVISIONING', activeRunId: runId });
  const canceled = await v1.runs.cancelRun({ runId, reason: 'never mind' });
  expect([runPhase(canceled), stepStates(canceled), canceled.startedAt]).toEqual([
    'CANCELED',
    ['WAITING'],
    undefined,
  ]);
  expect(canceled.finishedAt).toBeDefined();
  expect(await view(v1, machineId)).toMatchObject({
    phase: 'MAINTENANCE',
    activeRunId: '',
    conditions: { OperationCanceled: true },
  });
});
