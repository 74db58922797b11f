import { afterAll, beforeAll, expect, test } from 'vitest';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  conditionOf,
  ended,
  fakeStateOf,
  fresh,
  get,
  holdNewOperations,
  newMachine,
  phaseOf,
  run,
  start,
  statusOf,
  waitingAt,
} from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const CLUSTER = { targetClusterRef: 'prod-east' };

async function cancel(operationId: string, reason = '') {
  const startedAt = performance.now();
  const answer = await server.machines.cancelOperation({ operationId, reason });
  const operation = await ended(server, answer);
  return { answer, operation, tookMs: performance.now() - startedAt };
}

test.each(['netboot', 'reboot', 'repave', 'join', 'verify'])(
  'a reimage that hangs in %s is canceled promptly, and the machine boots from its disk again',
  async (step) => {
    const labels = { 'fake/hang-step': step };
    const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels, spec: CLUSTER });
    const { operationId } = await start(server, 'REIMAGE', machineId);
    await waitingAt(server, { operationId }, step);
    const { operation, tookMs } = await cancel(operationId, 'wrong image');
    expect(phaseOf(operation)).toBe('CANCELED');
    expect(operation).toMatchObject({ status: 'cancelled', cancelRequested: true });
    expect(operation.error).toBeUndefined();
    expect(tookMs).toBeLessThan(10_000);
    expect((await fakeStateOf(server, machineId)).bootDevice).toBe('disk');
    const machine = await get(server, machineId);
    expect(statusOf(machine)).toMatchObject({
      phase: 'MAINTENANCE',
      effectiveState: 'MAINTENANCE',
      activeOperationId: '',
      conditions: { OperationCanceled: true },
    });
    expect(statusOf(machine).conditions).not.toHaveProperty('NeedsIntervention');
    expect(conditionOf(machine, 'OperationCanceled')).toMatchObject({
      reason: 'Canceled',
      message: `REIMAGE ${operationId} was canceled by admin:admin`,
    });
  },
);

test('a cancel in READY leaves the machine in READY and idle', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
  const { operationId } = await start(server, 'REBOOT', machineId);
  await waitingAt(server, { operationId }, 'reboot');
  expect(phaseOf((await cancel(operationId)).operation)).toBe('CANCELED');
  expect(statusOf(await get(server, machineId))).toMatchObject({ phase: 'READY', effectiveState: 'IDLE' });
});

test('an operation that waits for a slow machine is canceled promptly', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/step-ms': '3600000' } });
  const { operationId } = await start(server, 'REBOOT', machineId);
  await waitingAt(server, { operationId }, 'reboot');
  const { operation, tookMs } = await cancel(operationId);
  expect(phaseOf(operation)).toBe('CANCELED');
  expect(tookMs).toBeLessThan(10_000);
});

test('an operation that pauses between two attempts is canceled without another attempt', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/fail-step': 'reboot' } });
  const { operationId } = await start(server, 'REBOOT', machineId);
  await until(
    () => server.operations.getOperation({ operationId }),
    (operation) => operation.waitingFor.startsWith('next attempt'),
  );
  const { operation } = await cancel(operationId);
  expect(phaseOf(operation)).toBe('CANCELED');
  expect(operation.steps[0]?.retryCount).toBe(0);
});

test('a write that is stopped half-way leaves a machine that is not provisioned', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', spec: CLUSTER });
  await run(server, 'REIMAGE', machineId);
  const labels = { 'fake/step-ms': '1', 'fake/hang-step': 'repave' };
  await server.machines.updateMachine({ machine: { machineId, labels } });
  const { operationId } = await start(server, 'REIMAGE', machineId);
  await waitingAt(server, { operationId }, 'repave');
  await cancel(operationId);
  expect((await fakeStateOf(server, machineId)).image).toBe('');
  const machine = await get(server, machineId);
  expect(statusOf(machine).conditions).toMatchObject({ Provisioned: false, InCustomerCluster: false });
  expect(conditionOf(machine, 'Provisioned')?.reason).toBe('ImagingCanceled');
});

test('a cancel before the first byte is written leaves the machine provisioned as it was', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
  await run(server, 'REIMAGE', machineId, { imageRef: 'first' });
  const labels = { 'fake/step-ms': '1', 'fake/hang-step': 'reboot' };
  await server.machines.updateMachine({ machine: { machineId, labels } });
  const { operationId } = await start(server, 'REIMAGE', machineId, { imageRef: 'second' });
  await waitingAt(server, { operationId }, 'reboot');
  expect((await fakeStateOf(server, machineId)).bootDevice).toBe('pxe');
  await cancel(operationId);
  expect(await fakeStateOf(server, machineId)).toMatchObject({ image: 'first', bootDevice: 'disk' });
  expect(statusOf(await get(server, machineId)).conditions).toMatchObject({ Provisioned: true });
});

test('canceling what is canceled succeeds and changes nothing', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
  const { operationId } = await start(server, 'REBOOT', machineId);
  const { operation } = await cancel(operationId, 'first');
  const machine = await get(server, machineId);
  expect(await server.machines.cancelOperation({ operationId, reason: 'second' })).toEqual(operation);
  expect(await get(server, machineId)).toEqual(machine);
});

test('many cancels at once are one cancel', async () => {
  const machineId = await newMachine(server, {
    phase: 'MAINTENANCE',
    labels: { 'fake/hang-step': 'reboot' },
  });
  const { operationId } = await start(server, 'REIMAGE', machineId);
  await waitingAt(server, { operationId }, 'reboot');
  const calls = Array.from({ length: 20 }, () => server.machines.cancelOperation({ operationId }));
  for (const answer of await Promise.all(calls)) expect(answer.cancelRequested).toBe(true);
  expect(phaseOf(await ended(server, { operationId }))).toBe('CANCELED');
  const events = await server.sql(
    `SELECT to_state, count(*)::int AS times FROM events
     WHERE operation_id = $1 AND kind = 'operation' AND from_state <> to_state GROUP BY 1 ORDER BY 1`,
    [operationId],
  );
  expect(events).toEqual(
    ['cancelled', 'compensating', 'pending', 'running'].map((to_state) => ({ to_state, times: 1 })),
  );
});

test('what has ended can’t be canceled', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', spec: CLUSTER });
  const succeeded = await run(server, 'REBOOT', machineId);
  const labels = { 'fake/step-ms': '1', 'fake/fail-step': 'verify' };
  await server.machines.updateMachine({ machine: { machineId, labels } });
  const failed = await run(server, 'REIMAGE', machineId);
  const machine = await get(server, machineId);
  for (const { operationId, status } of [succeeded, failed]) {
    const error = await refusal(server.machines.cancelOperation({ operationId }));
    expect(error).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'OPERATION_FINISHED',
      metadata: { operation_id: operationId, status },
    });
    expect(error.violations).toEqual([
      { type: 'OPERATION_FINISHED', subject: `operations/${operationId}`, description: `is ${status}` },
    ]);
  }
  expect(await get(server, machineId)).toEqual(machine);
});

test('an unknown operation can’t be canceled', async () => {
  expect(await refusal(server.machines.cancelOperation({ operationId: 'op-unknown' }))).toMatchObject({
    code: 'NOT_FOUND',
    reason: 'OPERATION_NOT_FOUND',
  });
  expect(await refusal(server.machines.cancelOperation({}))).toMatchObject({
    code: 'INVALID_ARGUMENT',
    reason: 'MISSING_FIELD',
    violations: [{ field: 'operation_id' }],
  });
});

test('who canceled, and why, is in the history', async () => {
  const machineId = await newMachine(server, {
    phase: 'MAINTENANCE',
    labels: { 'fake/hang-step': 'reboot' },
  });
  const { operationId } = await start(server, 'REIMAGE', machineId);
  await waitingAt(server, { operationId }, 'reboot');
  await cancel(operationId, 'wrong image');
  const recorded = await server.sql(
    `SELECT actor_kind, actor_id FROM events WHERE operation_id = $1 AND kind = 'operation'
     AND comment LIKE '%wrong image%'`,
    [operationId],
  );
  expect(recorded.length).toBeGreaterThanOrEqual(2);
  for (const event of recorded) expect(event).toEqual({ actor_kind: 'admin', actor_id: 'admin' });
});

test('a later operation that runs to its end lowers the signal again', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
  await cancel((await start(server, 'REBOOT', machineId)).operationId);
  await server.machines.updateMachine({ machine: { machineId, labels: { 'fake/step-ms': '1' } } });
  await run(server, 'REBOOT', machineId, { requestId: fresh('again') });
  expect(statusOf(await get(server, machineId)).conditions).toMatchObject({ OperationCanceled: false });
});

// Last, because it changes the database under all that come after it.
test('an operation that no replica has claimed is canceled at once', async () => {
  const machineId = await newMachine(server, { phase: 'READY' });
  await holdNewOperations(server);
  const { operationId } = await start(server, 'REBOOT', machineId);
  const { answer } = await cancel(operationId, 'never mind');
  expect(phaseOf(answer)).toBe('CANCELED');
  expect(answer.startedAt).toBeUndefined();
  expect(statusOf(await get(server, machineId))).toMatchObject({
    phase: 'READY',
    effectiveState: 'IDLE',
    activeOperationId: '',
    conditions: { OperationCanceled: true },
  });
  const next = await start(server, 'REBOOT', machineId);
  expect(phaseOf(next)).toBe('PENDING');
});
