import { afterAll, beforeAll, expect, test } from 'vitest';
import { StepStatus_State } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { conditionOf, get, newMachine, phaseOf, run, start, statusOf } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const CLUSTER = { targetClusterRef: 'prod-east' };
/** The one step that is not tried twice, so that a failure comes at once. */
const FAILS_AT_ONCE = { 'fake/fail-step': 'verify' };

function fix(machineId: string) {
  return server.machines.updateMachine({
    machine: { machineId },
    updateMask: { paths: ['labels.fake/fail-step'] },
  });
}

test('a failed operation says why, asks for help and leaves the phase alone', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: FAILS_AT_ONCE, spec: CLUSTER });
  const operation = await run(server, 'REIMAGE', machineId);
  expect(phaseOf(operation)).toBe('FAILED');
  expect(operation.error).toMatchObject({
    code: 'EXECUTION_FAILED',
    message: 'the node is NotReady',
    retryable: true,
    details: { step: 'verify', attempts: '1', failure_class: 'retryable' },
  });
  expect(operation.status).toBe('failed_retryable');
  expect(operation.steps.map((step) => StepStatus_State[step.state])).toEqual([
    ...Array(4).fill('SUCCEEDED'),
    'FAILED',
  ]);
  const machine = await get(server, machineId);
  expect(statusOf(machine)).toMatchObject({
    phase: 'MAINTENANCE',
    effectiveState: 'ATTENTION',
    activeOperationId: '',
    conditions: { NeedsIntervention: true, Provisioned: true },
  });
  expect(statusOf(machine).conditions).not.toHaveProperty('OperationCanceled');
  expect(conditionOf(machine, 'NeedsIntervention')).toMatchObject({
    reason: 'ReimageFailed',
    message: expect.stringContaining(`${operation.operationId} failed at verify`),
  });
});

test('a failure in READY leaves the machine in READY', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/fail-step': 'reboot' } });
  const operation = await run(server, 'REBOOT', machineId);
  expect(phaseOf(operation)).toBe('FAILED');
  expect(operation.error?.details).toMatchObject({ step: 'reboot', attempts: '2' });
  expect(operation.steps[0]).toMatchObject({ retryCount: 1, maxRetries: 1 });
  expect(statusOf(await get(server, machineId))).toMatchObject({
    phase: 'READY',
    effectiveState: 'ATTENTION',
  });
});

test('a retry after the cause is fixed succeeds, and the machine needs no intervention any more', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: FAILS_AT_ONCE, spec: CLUSTER });
  await run(server, 'REIMAGE', machineId);
  await fix(machineId);
  expect(phaseOf(await run(server, 'REIMAGE', machineId, { requestId: 'retry-001' }))).toBe('SUCCEEDED');
  const machine = await get(server, machineId);
  expect(statusOf(machine)).toMatchObject({
    phase: 'MAINTENANCE',
    effectiveState: 'MAINTENANCE',
    conditions: { NeedsIntervention: false, Provisioned: true, InCustomerCluster: true },
  });
  expect(conditionOf(machine, 'NeedsIntervention')?.reason).toBe('OperationSucceeded');
});

test('the success of something else does not answer for what failed', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: FAILS_AT_ONCE, spec: CLUSTER });
  await run(server, 'REIMAGE', machineId);
  expect(phaseOf(await run(server, 'REBOOT', machineId))).toBe('SUCCEEDED');
  expect(phaseOf(await run(server, 'ENTER_MAINTENANCE', machineId))).toBe('SUCCEEDED');
  expect(statusOf(await get(server, machineId)).effectiveState).toBe('ATTENTION');
});

test('a machine in need of attention still takes operations, and shows the need while it works', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: FAILS_AT_ONCE, spec: CLUSTER });
  await run(server, 'REIMAGE', machineId);
  const labels = { 'fake/step-ms': '1', 'fake/hang-step': 'reboot' };
  await server.machines.updateMachine({ machine: { machineId, labels } });
  const { operationId } = await start(server, 'REBOOT', machineId);
  expect(statusOf(await get(server, machineId))).toMatchObject({
    effectiveState: 'ATTENTION',
    activeOperationId: operationId,
  });
  await server.machines.cancelOperation({ operationId });
});

test('a step that fails once is tried again by itself', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/fail-step': 'reboot:1' } });
  const { operationId } = await start(server, 'REBOOT', machineId);
  const between = await until(
    () => server.operations.getOperation({ operationId }),
    (operation) => operation.waitingFor.startsWith('next attempt'),
  );
  expect(phaseOf(between)).toBe('RUNNING');
  expect(between.steps[0]?.message).toContain('attempt 1 of 2 failed');
  const operation = await until(
    () => server.operations.getOperation({ operationId }),
    (seen) => seen.finishedAt !== undefined,
  );
  expect(phaseOf(operation)).toBe('SUCCEEDED');
  expect(operation.steps[0]?.retryCount).toBe(1);
  expect(operation.error).toBeUndefined();
  expect(statusOf(await get(server, machineId))).toMatchObject({ effectiveState: 'IDLE' });
});

test('a write that fails leaves a machine that is not provisioned', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
  await run(server, 'REIMAGE', machineId);
  const labels = { 'fake/step-ms': '60', 'fake/fail-step': 'repave' };
  await server.machines.updateMachine({ machine: { machineId, labels } });
  const operation = await run(server, 'REIMAGE', machineId);
  expect(operation.error).toMatchObject({ details: { step: 'repave', attempts: '2' } });
  const machine = await get(server, machineId);
  expect(statusOf(machine).conditions).toMatchObject({ Provisioned: false, NeedsIntervention: true });
  expect(conditionOf(machine, 'Provisioned')?.reason).toBe('ImagingFailed');
});
