/** Operations that a rule lets start only after another operator has approved them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AdminService, OperatorAction_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { Rollout_State, RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { approvalsConfiguration } from '../../src/server/settings/approval-configuration.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { ended, fresh, get, newMachine, phaseOf, releaseOperation, statusOf } from './fleet.ts';

const RULES = [
  { name: 'prod', filter: 'type=REIMAGE AND labels.env=prod' },
  'type=DRAIN AND labels.env=prod',
  { name: 'by-admin', filter: 'type=REBOOT AND labels.env=prod', approver_role: 'admin' },
  { name: 'quick', filter: 'labels.env=hurried', expires_after_seconds: 1 },
];

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ configuration: { approvals: approvalsConfiguration.parse(RULES) } });
});
afterAll(() => server?.stop());

async function operator(role = 'operator', as = server.admin) {
  const name = fresh('person');
  const { secret } = await as.createToken({ name, role });
  const admin = server.client(AdminService, secret);
  return { name, secret, admin, machines: server.client(MachineService, secret) };
}

/** A reimage of a production machine that waits, and its requester. */
async function waitingReimage() {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: { env: 'prod' } });
  const requester = await operator();
  const operation = await requester.machines.reimageMachine({ machineId, requestId: fresh('reimage') });
  return { machineId, requester, operation, operationId: operation.operationId };
}

/** As the console does: with the cookie of a session that the token started. */
async function approveInSession(secret: string, operationId: string): Promise<number> {
  const started = await fetch(`${server.httpUrl}/auth/session`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}` },
  });
  const cookie = (started.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const answer = await fetch(`${server.httpUrl}/baremetal.admin.v1.AdminService/ApproveOperation`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ operationId }),
  });
  return answer.status;
}

const read = (operationId: string) => server.operations.getOperation({ operationId });

describe('an operation that needs approval', () => {
  test('is PENDING and waits, holds its machine, and no replica starts it', async () => {
    const { machineId, operation, operationId } = await waitingReimage();
    expect(phaseOf(operation)).toBe('PENDING');
    expect(operation).toMatchObject({
      waitingFor: 'waiting for approval',
      approval: { state: 'waiting', rule: 'prod', approverRole: 'operator', decidedBy: '' },
    });
    expect(statusOf(await get(server, machineId)).activeOperationId).toBe(operationId);
    // Even a row that something makes due is not claimed.
    await releaseOperation(server, operationId);
    const other = await newMachine(server, { phase: 'MAINTENANCE' });
    expect(statusOf(await get(server, other)).phase).toBe('MAINTENANCE');
    expect(phaseOf(await read(operationId))).toBe('PENDING');
    const { operations } = await server.operations.listOperations({ filter: 'approval=waiting' });
    expect(operations.map((listed) => listed.operationId)).toContain(operationId);
  });

  test('runs once another operator approves it', async () => {
    const { operation, operationId } = await waitingReimage();
    const approver = await operator();
    const approved = await approver.admin.approveOperation({ operationId, reason: 'window is open' });
    expect(approved.approval).toMatchObject({
      state: 'approved',
      decidedBy: `operator:${approver.name}`,
      comment: 'window is open',
    });
    expect(phaseOf(await ended(server, operation))).toBe('SUCCEEDED');
    // Again: the same answer, and no second effect.
    await approver.admin.approveOperation({ operationId });
    const [{ count } = { count: 0 }] = await server.sql<{ count: number }>(
      `SELECT count(*)::int FROM events WHERE operation_id = $1 AND metadata ->> 'action' = 'approved'`,
      [operationId],
    );
    expect(count).toBe(1);
  });

  test('is not approved by its requester, nor with a token that the requester created', async () => {
    const { operationId, requester } = await waitingReimage();
    await expect(refusal(requester.admin.approveOperation({ operationId }))).resolves.toMatchObject({
      code: 'PERMISSION_DENIED',
      reason: 'NOT_THE_APPROVER',
    });
    const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: { env: 'prod' } });
    const admin = await operator('admin');
    const asked = await admin.machines.reimageMachine({ machineId, requestId: fresh('reimage') });
    const puppet = await operator('operator', admin.admin);
    const { operationId: second } = asked;
    await expect(refusal(puppet.admin.approveOperation({ operationId: second }))).resolves.toMatchObject({
      reason: 'NOT_THE_APPROVER',
    });
    expect(phaseOf(await read(operationId))).toBe('PENDING');
    expect(phaseOf(await read(second))).toBe('PENDING');
  });

  test('is not approved with a token that goes back to its requester, whatever became of those in between', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: { env: 'prod' } });
    const requester = await operator('admin');
    const { operationId } = await requester.machines.reimageMachine({
      machineId,
      requestId: fresh('reimage'),
    });
    const between = await operator('admin', requester.admin);
    const puppet = await operator('operator', between.admin);
    const refused = { code: 'PERMISSION_DENIED', reason: 'NOT_THE_APPROVER' };
    expect(await refusal(puppet.admin.approveOperation({ operationId }))).toMatchObject(refused);
    await server.admin.revokeToken({ name: between.name });
    // Another person's token has the name now.
    await server.admin.createToken({ name: between.name, role: 'viewer' });
    expect(await refusal(puppet.admin.approveOperation({ operationId }))).toMatchObject(refused);
    // By a rotated secret, and by a session, it is the same identity.
    const { secret } = await server.admin.rotateToken({ name: requester.name });
    const rotated = server.client(AdminService, secret);
    expect(await refusal(rotated.approveOperation({ operationId }))).toMatchObject(refused);
    expect(await approveInSession(secret, operationId)).toBe(403);
    expect(phaseOf(await read(operationId))).toBe('PENDING');
    const colleague = await operator();
    await colleague.admin.approveOperation({ operationId });
  });

  test('that the first admin token asks for is approved with a token that it created', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: { env: 'prod' } });
    const { operationId } = await server.machines.reimageMachine({ machineId, requestId: fresh('reimage') });
    await expect(refusal(server.admin.approveOperation({ operationId }))).resolves.toMatchObject({
      reason: 'NOT_THE_APPROVER',
    });
    const approver = await operator();
    const approved = await approver.admin.approveOperation({ operationId });
    expect(approved.approval).toMatchObject({ state: 'approved' });
  });

  test('is canceled by a rejection, and its machine is free again', async () => {
    const { machineId, operationId } = await waitingReimage();
    const approver = await operator();
    const rejected = await approver.admin.rejectOperation({ operationId, reason: 'not on a Friday' });
    expect(phaseOf(rejected)).toBe('CANCELED');
    expect(rejected).toMatchObject({
      waitingFor: '',
      approval: { state: 'rejected', comment: 'not on a Friday' },
    });
    expect(statusOf(await get(server, machineId))).toMatchObject({
      phase: 'MAINTENANCE',
      activeOperationId: '',
    });
    await expect(refusal(approver.admin.approveOperation({ operationId }))).resolves.toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'NOT_AWAITING_APPROVAL',
    });
  });

  test('is canceled by its requester like any other', async () => {
    const { operationId, requester } = await waitingReimage();
    expect(phaseOf(await requester.machines.cancelOperation({ operationId }))).toBe('CANCELED');
  });

  test('takes no action that would start it', async () => {
    const { operationId } = await waitingReimage();
    const { MARK_MANUAL_INTERVENTION_REQUIRED, RESUME, RERUN } = OperatorAction_Value;
    for (const action of [MARK_MANUAL_INTERVENTION_REQUIRED, RESUME, RERUN])
      await expect(
        refusal(server.admin.actOnOperation({ operationId, action, reason: 'now' })),
      ).resolves.toMatchObject({ reason: 'AWAITS_APPROVAL' });
    expect(phaseOf(await read(operationId))).toBe('PENDING');
  });

  test('is approved only by the role that the rule names', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: { env: 'prod' } });
    const requester = await operator();
    const { operationId } = await requester.machines.rebootMachine({ machineId, requestId: fresh('r') });
    const peer = await operator();
    await expect(refusal(peer.admin.approveOperation({ operationId }))).resolves.toMatchObject({
      reason: 'NOT_THE_APPROVER',
      message: expect.stringContaining('role admin'),
    });
    expect((await server.admin.approveOperation({ operationId })).approval?.state).toBe('approved');
  });

  test('expires when no one answers', async () => {
    const machineId = await newMachine(server);
    await server.sql(`UPDATE machines SET labels = labels || '{"env":"hurried"}' WHERE machine_id = $1`, [
      machineId,
    ]);
    const { operationId } = await server.machines.enterMaintenance({ machineId, requestId: fresh('r') });
    const expired = await until(
      () => read(operationId),
      ({ approval }) => approval?.state === 'expired',
      20_000,
    );
    expect(phaseOf(expired)).toBe('CANCELED');
    expect(statusOf(await get(server, machineId)).activeOperationId).toBe('');
  });

  test('is not approved once its machine has changed', async () => {
    const { machineId, operationId } = await waitingReimage();
    await server.sql(`UPDATE machines SET phase = 'READY' WHERE machine_id = $1`, [machineId]);
    await expect(refusal(server.admin.approveOperation({ operationId }))).resolves.toMatchObject({
      reason: 'MACHINE_CHANGED_SINCE',
    });
  });
});

test('a workflow changes the service state when it is approved, and not before', async () => {
  const machineId = await newMachine(server, { labels: { env: 'prod' } });
  await server.sql(`UPDATE machines SET service = 'active' WHERE machine_id = $1`, [machineId]);
  const requester = await operator();
  const asked = await requester.admin.drainMachine({ machineId, requestId: fresh('d') });
  expect(asked.approval?.state).toBe('waiting');
  expect((await get(server, machineId)).status?.service).toBe('active');
  await requester.machines.cancelOperation({ operationId: asked.operationId });
  expect((await get(server, machineId)).status?.service).toBe('active');
  const again = await requester.admin.drainMachine({ machineId, requestId: fresh('d') });
  await server.admin.approveOperation({ operationId: again.operationId });
  await ended(server, again);
  const moves = await server.sql<{ to_state: string }>(
    `SELECT to_state FROM events WHERE machine_id = $1 AND kind = 'service' ORDER BY event_id`,
    [machineId],
  );
  expect(moves.map(({ to_state }) => to_state)).toEqual(['draining', 'retired']);
});

test('a repave of the v1 API waits like a reimage', async () => {
  const labels = { env: 'prod' };
  const machineId = await newMachine(server, { labels, spec: { targetClusterRef: 'c' } });
  const requester = await operator();
  const runs = server.client(RunService, requester.secret);
  const run = await runs.startRun({ machineId, requestId: fresh('run'), type: 'REPAVE' });
  expect((await read(run.runId)).approval?.state).toBe('waiting');
});

test('an operation that no rule names needs none', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
  const operation = await server.machines.reimageMachine({ machineId, requestId: fresh('reimage') });
  expect(operation.approval).toBeUndefined();
  await expect(
    refusal(server.admin.approveOperation({ operationId: operation.operationId })),
  ).resolves.toMatchObject({ reason: 'NOT_AWAITING_APPROVAL' });
});

test.each([
  ['colour=red', /colour/],
  ['', /must name the operations/],
])('the rule %s is refused at the start', (filter, problem) => {
  expect(() => approvalsConfiguration.parse([{ filter }])).toThrow(problem);
});

describe('a rollout', () => {
  const reimage = { step: { case: 'reimage' as const, value: { imageRef: 'ubuntu-2204' } } };

  test('waits for an approval on a machine that a rule names only since the rollout was created', async () => {
    const labels = { env: 'test', 'fake/step-ms': '1' };
    const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels });
    const requester = await operator();
    const rollouts = server.client(RolloutService, requester.secret);
    const { rolloutId } = await rollouts.createRollout({
      requestId: fresh('rollout'),
      spec: { machineIds: [machineId], steps: [reimage], gate: 'approval' },
    });
    await server.machines.updateMachine({
      machine: { machineId, labels: { ...labels, env: 'prod' } },
      updateMask: { paths: ['labels'] },
    });
    await rollouts.approveWave({ rolloutId, requestId: fresh('approve') });
    const [operation] = await until(
      async () =>
        (await server.operations.listOperations({ filter: `machine_id=${machineId} AND type=REIMAGE` }))
          .operations,
      (found) => found.length > 0,
    );
    const operationId = operation?.operationId ?? '';
    expect((await read(operationId)).approval).toMatchObject({ state: 'waiting', rule: 'prod' });
    expect(await refusal(requester.admin.approveOperation({ operationId }))).toMatchObject({
      reason: 'NOT_THE_APPROVER',
    });
    const approver = await operator();
    await approver.admin.approveOperation({ operationId });
    await until(
      () => rollouts.getRollout({ rolloutId }),
      ({ state }) => state === Rollout_State.SUCCEEDED,
    );
  });

  test('asks once for what a rule names from the start: at the gate of the wave', async () => {
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { env: 'prod', 'fake/step-ms': '1' },
    });
    const requester = await operator();
    const spec = { machineIds: [machineId], steps: [reimage] };
    const rollouts = server.client(RolloutService, requester.secret);
    const { rolloutId } = await rollouts.createRollout({ requestId: fresh('rollout'), spec });
    expect(await refusal(rollouts.approveWave({ rolloutId, requestId: fresh('approve') }))).toMatchObject({
      reason: 'NOT_THE_APPROVER',
    });
    const approver = server.client(RolloutService, (await operator()).secret);
    await approver.approveWave({ rolloutId, requestId: fresh('approve') });
    await until(
      () => rollouts.getRollout({ rolloutId }),
      ({ state }) => state === Rollout_State.SUCCEEDED,
    );
  });
});
