import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Phase } from '../../src/domain/machine/phase.ts';
import { operationIdOf, runIdOf } from '../../src/domain/v1/run-id.ts';
import { RUN_TYPE_NAMES } from '../../src/domain/v1/run-type.ts';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { newMachine, run as runOperation, start, waitingAt } from '../api/fleet.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import {
  CLUSTER,
  newPlan,
  run,
  runEnded,
  runPhase,
  startRun,
  storedRows,
  type V1,
  v1Of,
  view,
} from './runs.ts';

let server: TestServer;
let replica: TestServer;
let v1: V1;

beforeAll(async () => {
  server = await startTestServer();
  replica = await startTestServer({ database: server.database });
  v1 = v1Of(server);
});
afterAll(async () => {
  await replica?.stop();
  await server?.stop();
});

const HANGS = { 'fake/hang-step': 'reboot' };

/** A machine on which a run hangs until it is canceled. */
async function busyMachine(): Promise<{ machineId: string; runId: string }> {
  const machineId = await newMachine(server, { labels: HANGS });
  const { runId } = await startRun(v1, 'REBOOT', machineId, { requestId: 'first' });
  await waitingAt(server, { operationId: runId }, 'reboot');
  return { machineId, runId };
}

async function flag(machineId: string, value: MachineFlag_Value): Promise<void> {
  await server.admin.flagMachine({ machineId, flag: value, reason: 'test' });
}

test('a run starts as PENDING, and says what it is going to do', async () => {
  const machineId = await newMachine(server, { spec: CLUSTER });
  const started = await startRun(v1, 'REPAVE', machineId);
  expect(runPhase(started)).toBe('PENDING');
  expect(started).toMatchObject({
    machineId,
    type: 'REPAVE',
    planId: 'default-repave',
    currentStep: '',
    cancelRequested: false,
    startedBy: 'admin:admin',
    progressPercent: 0,
  });
  expect(started.steps.map(({ name, state, retryCount }) => [name, state, retryCount])).toEqual(
    ['set-netboot', 'repave-os', 'reboot', 'join-cluster', 'verify'].map((name) => [name, 1, 0]),
  );
  expect([started.createdAt, started.startedAt, started.finishedAt]).toEqual([
    expect.anything(),
    undefined,
    undefined,
  ]);
  await runEnded(v1, started);
});

test.each(['repave', 'REIMAGE', 'ENTER_MAINTENANCE', 'EXPLODE', 'constructor', '__proto__', 'REPAVE '])(
  'the type %j is none, and the refusal names those that are',
  async (type) => {
    const machineId = await newMachine(server);
    const counts = await storedRows(server);
    const error = await refusal(startRun(v1, type, machineId));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD' });
    expect(error.violations).toEqual([{ field: 'type', description: expect.stringContaining('REPAVE') }]);
    for (const known of RUN_TYPE_NAMES) expect(error.message).toContain(known);
    expect(await storedRows(server)).toEqual(counts);
  },
);

describe('a run with a plan of its own', () => {
  test('takes the steps of that plan, whatever its type', async () => {
    const machineId = await newMachine(server);
    const { planId } = await newPlan(server, [
      { name: 'uptime', kind: { case: 'ssh', value: { command: 'uptime', repeatable: true } } },
    ]);
    const done = await run(v1, 'NET_RECONFIG', machineId, { planId });
    expect([done.planId, done.type, done.steps.map(({ name }) => name)]).toEqual([
      planId,
      'NET_RECONFIG',
      ['uptime'],
    ]);
    expect(runPhase(done)).toBe('SUCCEEDED');
  });

  test('may name the default plan of another type', async () => {
    const machineId = await newMachine(server);
    const done = await run(v1, 'REBOOT', machineId, { planId: 'default-net-reconfig' });
    expect(done.steps.map(({ name }) => name)).toEqual(['apply', 'verify-connectivity']);
  });

  test('has the server’s defaults where the plan says nothing', async () => {
    const machineId = await newMachine(server);
    const { planId } = await newPlan(server, [
      { name: 'inherits', kind: { case: 'reboot', value: {} } },
      { name: 'says', timeoutSeconds: 7, maxRetries: 0, kind: { case: 'reboot', value: {} } },
    ]);
    const { runId } = await run(v1, 'REBOOT', machineId, { planId });
    const { steps } = await server.operations.getOperation({ operationId: runId });
    expect(steps.map(({ timeoutSeconds, maxRetries }) => [timeoutSeconds, maxRetries])).toEqual([
      [600, 1],
      [7, 0],
    ]);
  });

  test('that is unknown is not found', async () => {
    const machineId = await newMachine(server);
    const counts = await storedRows(server);
    expect(await refusal(startRun(v1, 'REPAVE', machineId, { planId: 'plan-none' }))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'PLAN_NOT_FOUND',
      metadata: { plan_id: 'plan-none' },
    });
    expect(await storedRows(server)).toEqual(counts);
  });
});

describe('the same request again', () => {
  test('is the same run, whatever has become of it and of its machine', async () => {
    const { machineId, runId } = await busyMachine();
    const again = () => startRun(v1Of(replica), 'REBOOT', machineId, { requestId: 'first' });
    expect([(await again()).runId, runPhase(await again())]).toEqual([runId, 'RUNNING']);
    await v1.runs.cancelRun({ runId });
    await runEnded(v1, { runId });
    expect([(await again()).runId, runPhase(await again())]).toEqual([runId, 'CANCELED']);
    const other = await startRun(v1, 'REBOOT', machineId);
    expect((await again()).runId).toBe(runId);
    await v1.runs.cancelRun({ runId: other.runId });
    await runEnded(v1, other);
    await flag(machineId, MachineFlag_Value.RETIRED);
    expect((await again()).runId).toBe(runId);
  });

  test('is answered although its plan could not be started any more', async () => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    const first = await run(v1, 'JOIN', machineId, { requestId: 'join' });
    await server.machines.updateMachine({ machine: { machineId }, updateMask: { paths: ['spec'] } });
    expect((await refusal(startRun(v1, 'JOIN', machineId))).reason).toBe('NO_TARGET_CLUSTER');
    expect(await startRun(v1, 'JOIN', machineId, { requestId: 'join' })).toEqual(first);
  });

  test.each([
    ['another type', 'NET_RECONFIG', ''],
    ['another plan', 'REBOOT', 'default-net-reconfig'],
    ['an unknown plan', 'REBOOT', 'plan-none'],
  ])('with %s is refused, and names the run that has the id', async (_what, type, planId) => {
    const machineId = await newMachine(server);
    const { runId } = await run(v1, 'REBOOT', machineId, { requestId: 'taken' });
    expect(await refusal(startRun(v1, type, machineId, { requestId: 'taken', planId }))).toMatchObject({
      code: 'ALREADY_EXISTS',
      reason: 'REQUEST_ID_REUSED',
      metadata: { operation_id: runId, machine_id: machineId, request_id: 'taken' },
    });
  });

  test('in the other API is another request, and refused', async () => {
    const machineId = await newMachine(server, { phase: 'READY' });
    await run(v1, 'REBOOT', machineId, { requestId: 'taken' });
    expect((await refusal(start(server, 'REBOOT', machineId, { requestId: 'taken' }))).reason).toBe(
      'REQUEST_ID_REUSED',
    );
    await runOperation(server, 'REBOOT', machineId, { requestId: 'theirs' });
    expect((await refusal(startRun(v1, 'REBOOT', machineId, { requestId: 'theirs' }))).reason).toBe(
      'REQUEST_ID_REUSED',
    );
  });

  test('thirty times at once, on two replicas, starts one run', async () => {
    const machineId = await newMachine(server, { labels: HANGS });
    const both = [v1, v1Of(replica)] as const;
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        startRun(both[index % 2 === 0 ? 0 : 1], 'REBOOT', machineId, { requestId: 'crowd' }),
      ),
    );
    expect(new Set(answers.map(({ runId }) => runId)).size).toBe(1);
    const { runs } = await v1.runs.listRuns({ filter: `machine_id=${machineId}` });
    expect(runs).toHaveLength(1);
    await v1.runs.cancelRun({ runId: runs[0]?.runId ?? '' });
  });

  test('thirty requests at once start one run, and the others name it', async () => {
    const machineId = await newMachine(server, { labels: HANGS });
    const both = [v1, v1Of(replica)] as const;
    const answers = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => startRun(both[index % 2 === 0 ? 0 : 1], 'REBOOT', machineId)),
    );
    const [started, ...more] = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? [answer.value.runId] : [],
    );
    expect(more).toEqual([]);
    for (const answer of answers) {
      if (answer.status === 'fulfilled') continue;
      expect(answer.reason).toMatchObject({
        code: 'FAILED_PRECONDITION',
        reason: 'OPERATION_ACTIVE',
        metadata: { machine_id: machineId, operation_id: started },
      });
    }
    await v1.runs.cancelRun({ runId: started ?? '' });
  });
});

describe('of several reasons to refuse a start the first counts:', () => {
  const nowhere = { machineId: 'nobody', requestId: 'r', type: 'REPAVE', planId: 'plan-none' };

  test('a missing field before everything', async () => {
    for (const [field, request] of [
      ['request_id', { ...nowhere, requestId: '' }],
      ['machine_id', { ...nowhere, machineId: '' }],
      ['type', { ...nowhere, type: '' }],
    ] as const) {
      const error = await refusal(v1.runs.startRun(request));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'MISSING_FIELD' });
      expect(error.violations).toMatchObject([{ field }]);
    }
  });

  test('the machine before the plan', async () => {
    expect(await refusal(v1.runs.startRun(nowhere))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'MACHINE_NOT_FOUND',
    });
  });

  test('the plan before the flags', async () => {
    const machineId = await newMachine(server);
    await flag(machineId, MachineFlag_Value.RETIRED);
    expect((await refusal(startRun(v1, 'REPAVE', machineId, { planId: 'plan-none' }))).reason).toBe(
      'PLAN_NOT_FOUND',
    );
  });

  test('the flags before the target cluster', async () => {
    const machineId = await newMachine(server);
    await flag(machineId, MachineFlag_Value.RMA);
    expect((await refusal(startRun(v1, 'REPAVE', machineId))).reason).toBe('MACHINE_BLOCKED');
  });

  test('each of them before the active run', async () => {
    const { machineId, runId } = await busyMachine();
    const reason = async (type: string, planId = '') =>
      (await refusal(startRun(v1, type, machineId, { planId }))).reason;
    expect(await reason('REBOOT', 'plan-none')).toBe('PLAN_NOT_FOUND');
    expect(await reason('JOIN')).toBe('NO_TARGET_CLUSTER');
    expect(await reason('REBOOT')).toBe('OPERATION_ACTIVE');
    await flag(machineId, MachineFlag_Value.RMA);
    expect(await reason('REBOOT')).toBe('MACHINE_BLOCKED');
    expect(await reason('RMA')).toBe('OPERATION_ACTIVE');
    await v1.runs.cancelRun({ runId });
  });
});

test('a run and an operation exclude each other on one machine', async () => {
  const { machineId, runId } = await busyMachine();
  expect(await refusal(start(server, 'ENTER_MAINTENANCE', machineId))).toMatchObject({
    code: 'FAILED_PRECONDITION',
    reason: 'OPERATION_ACTIVE',
    metadata: { operation_id: operationIdOf(runId) },
  });
  await v1.runs.cancelRun({ runId });
  await runEnded(v1, { runId });
  const { operationId } = await start(server, 'REBOOT', machineId);
  expect((await refusal(startRun(v1, 'REBOOT', machineId))).metadata).toMatchObject({
    operation_id: runIdOf(operationId),
  });
  await v1.runs.cancelRun({ runId: operationId });
});

describe('a machine that is', () => {
  test.each(RUN_TYPE_NAMES)('RETIRED takes no %s run', { tags: ['extended'] }, async (type) => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    await flag(machineId, MachineFlag_Value.RETIRED);
    expect(await refusal(startRun(v1, type, machineId))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'MACHINE_BLOCKED',
      metadata: { machine_id: machineId, flag: 'Retired' },
      violations: [{ subject: `machines/${machineId}`, description: 'is flagged Retired' }],
    });
    await flag(machineId, MachineFlag_Value.RMA);
    expect((await refusal(startRun(v1, type, machineId))).metadata.flag).toBe('Retired');
  });

  test.each(RUN_TYPE_NAMES)('in RMA and asked for %s', async (type) => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    await flag(machineId, MachineFlag_Value.RMA);
    if (type === 'RMA') {
      expect(runPhase(await run(v1, type, machineId))).toBe('SUCCEEDED');
      expect((await view(v1, machineId)).phase).toBe('RMA');
      return;
    }
    expect(await refusal(startRun(v1, type, machineId))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'MACHINE_BLOCKED',
      metadata: { machine_id: machineId, flag: 'RMA' },
    });
  });

  test.each(['FACTORY_READY', 'READY', 'MAINTENANCE'] as const satisfies readonly Phase[])(
    '%s takes every run: the v1 API has no gate by phase',
    { tags: ['extended'] },
    async (phase) => {
      const machines = await Promise.all(
        RUN_TYPE_NAMES.map(async (type) => {
          const machineId = await newMachine(server, { phase, spec: CLUSTER });
          return startRun(v1, type, machineId);
        }),
      );
      for (const started of machines) {
        const done = await runEnded(v1, started);
        // Without its node in the cluster an UPGRADE fails; that it started is what counts.
        if (started.type === 'UPGRADE') expect(done.error?.code).toBe('NODE_NOT_FOUND');
        else expect(runPhase(done)).toBe('SUCCEEDED');
      }
    },
  );
});

test.each(['REPAVE', 'JOIN', 'UPGRADE'])(
  'a %s run of a machine without a target cluster is refused before it begins',
  async (type) => {
    const machineId = await newMachine(server);
    const counts = await storedRows(server);
    expect(await refusal(startRun(v1, type, machineId))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'NO_TARGET_CLUSTER',
      metadata: { machine_id: machineId },
    });
    expect(await storedRows(server)).toEqual(counts);
  },
);

test('a plan that names its cluster needs no target cluster', async () => {
  const machineId = await newMachine(server);
  const { planId } = await newPlan(server, [
    { name: 'join', kind: { case: 'join', value: { clusterRef: 'cluster-b' } } },
    { name: 'verify', kind: { case: 'verify', value: { clusterRef: 'cluster-b' } } },
  ]);
  const done = await run(v1, 'JOIN', machineId, { planId });
  expect([runPhase(done), done.steps.at(-1)?.message]).toEqual(['SUCCEEDED', 'Ready in cluster-b']);
});
