import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Phase, phaseLifecycle } from '../../src/domain/machine/phase.ts';
import {
  PHASE_GATED_TYPE_NAMES,
  PHASE_GATED_TYPES,
  type PhaseGatedType,
} from '../../src/domain/operation/phase-gated-type.ts';
import { OperationType as OperationTypeMessage } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { conditionOf, get, newMachine, phaseOf, rowCounts, run, start, statusOf } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

/** As docs/operations-api.md prints it. */
const REQUIRED_PHASES = {
  REBOOT: ['READY', 'MAINTENANCE'],
  REIMAGE: ['MAINTENANCE'],
  ENTER_MAINTENANCE: ['FACTORY_READY', 'READY', 'MAINTENANCE'],
  EXIT_MAINTENANCE: ['MAINTENANCE'],
} as const satisfies Record<PhaseGatedType, readonly Phase[]>;

const PHASE_AFTER: Partial<Record<PhaseGatedType, Phase>> = {
  ENTER_MAINTENANCE: 'MAINTENANCE',
  EXIT_MAINTENANCE: 'READY',
};

const GATES = PHASE_GATED_TYPE_NAMES.flatMap((type) =>
  (Object.keys(phaseLifecycle.states) as Phase[]).map((phase) => ({
    type,
    phase,
    verdict: PHASE_GATED_TYPES[type].phases.some((allowed) => allowed === phase) ? 'allowed' : 'refused',
  })),
);

test('the table of gates is the one in docs/operations-api.md', () => {
  const phases = Object.fromEntries(
    PHASE_GATED_TYPE_NAMES.map((type) => [type, PHASE_GATED_TYPES[type].phases]),
  );
  expect(phases).toEqual(REQUIRED_PHASES);
});

test.each(GATES)('$type is $verdict in $phase', async ({ type, phase, verdict }) => {
  const machineId = await newMachine(server, { phase });
  if (verdict === 'allowed') {
    const operation = await run(server, type, machineId);
    expect([OperationTypeMessage[operation.type], phaseOf(operation)]).toEqual([type, 'SUCCEEDED']);
    expect(statusOf(await get(server, machineId)).phase).toBe(PHASE_AFTER[type] ?? phase);
    return;
  }
  const before = await get(server, machineId);
  const counts = await rowCounts(server);
  const error = await refusal(start(server, type, machineId));
  expect(error).toMatchObject({
    code: 'FAILED_PRECONDITION',
    reason: 'WRONG_PHASE',
    domain: 'ingot',
    metadata: { machine_id: machineId, phase, type, allowed: REQUIRED_PHASES[type].join(',') },
  });
  expect(error.violations).toEqual([
    { type: 'WRONG_PHASE', subject: `machines/${machineId}`, description: `phase is ${phase}` },
  ]);
  expect(await get(server, machineId)).toEqual(before);
  expect(await rowCounts(server)).toEqual(counts);
});

test('entering maintenance in maintenance succeeds and changes nothing about the machine', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
  const before = await get(server, machineId);
  expect(phaseOf(await run(server, 'ENTER_MAINTENANCE', machineId))).toBe('SUCCEEDED');
  const { status, labels, spec } = await get(server, machineId);
  // It was BUSY in between, so only the time since when it is in its effective state has moved.
  expect({ status: { ...status, effectiveSince: before.status?.effectiveSince }, labels, spec }).toEqual({
    status: before.status,
    labels: before.labels,
    spec: before.spec,
  });
  const moves = await server.sql(`SELECT 1 FROM events WHERE machine_id = $1 AND kind = 'phase'`, [
    machineId,
  ]);
  expect(moves).toHaveLength(1);
});

test('a machine that works on something is refused everything else', async () => {
  const labels = { 'fake/hang-step': 'reboot' };
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels });
  const { operationId } = await start(server, 'REBOOT', machineId);
  for (const type of PHASE_GATED_TYPE_NAMES) {
    const error = await refusal(start(server, type, machineId));
    expect(error).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'OPERATION_ACTIVE',
      metadata: { machine_id: machineId, operation_id: operationId },
    });
    expect(error.violations).toEqual([
      { type: 'OPERATION_ACTIVE', subject: `operations/${operationId}`, description: 'is still active' },
    ]);
  }
  await server.machines.cancelOperation({ operationId });
});

test('the phase gate is checked before the active operation', async () => {
  const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
  const { operationId } = await start(server, 'REBOOT', machineId);
  expect((await refusal(start(server, 'REIMAGE', machineId))).reason).toBe('WRONG_PHASE');
  await server.machines.cancelOperation({ operationId });
});

test('an operation is answered at once, and says who asked for what and when', async () => {
  const machineId = await newMachine(server, {
    phase: 'MAINTENANCE',
    labels: { 'fake/hang-step': 'repave' },
  });
  const operation = await start(server, 'REIMAGE', machineId, {
    requestId: 'deploy-v2.1',
    imageRef: 'rhel-9',
  });
  expect(operation).toMatchObject({
    machineId,
    requestId: 'deploy-v2.1',
    params: { image_ref: 'rhel-9' },
    startedBy: 'admin:admin',
    progressPercent: 0,
    cancelRequested: false,
    planId: '',
  });
  expect(operation.operationId).toMatch(/^op-[0-9a-z]{26}$/);
  expect(phaseOf(operation)).toBe('PENDING');
  expect(operation.createdAt).toBeDefined();
  expect([operation.startedAt, operation.finishedAt, operation.error]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(statusOf(await get(server, machineId))).toMatchObject({
    phase: 'MAINTENANCE',
    effectiveState: 'BUSY',
    activeOperationId: operation.operationId,
  });
  await server.machines.cancelOperation({ operationId: operation.operationId });
});

test('a reimage joins the cluster that the machine is meant for, and its conditions say so', async () => {
  const spec = { targetClusterRef: 'prod-east' };
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', spec });
  const operation = await run(server, 'REIMAGE', machineId, { imageRef: 'rhel-9' });
  expect(operation).toMatchObject({
    params: { image_ref: 'rhel-9' },
    progressPercent: 100,
    status: 'completed',
  });
  expect(operation.steps.map((step) => step.name)).toEqual(['netboot', 'reboot', 'repave', 'join', 'verify']);
  expect(Number(operation.finishedAt?.seconds)).toBeGreaterThanOrEqual(Number(operation.startedAt?.seconds));
  const machine = await get(server, machineId);
  expect(statusOf(machine)).toEqual({
    phase: 'MAINTENANCE',
    effectiveState: 'MAINTENANCE',
    activeOperationId: '',
    conditions: { Reachable: true, Provisioned: true, InCustomerCluster: true },
  });
  for (const condition of machine.status?.conditions ?? []) {
    expect(condition.reason).toMatch(/^[A-Z][A-Za-z]+$/);
    expect(condition.message).not.toBe('');
    expect(condition.lastTransition).toBeDefined();
  }
});

test('a reimage without an image takes the default, and keeps it for the audit', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
  const operation = await run(server, 'REIMAGE', machineId);
  expect(operation.params).toEqual({ image_ref: 'ubuntu-2204' });
  expect(operation.steps.map((step) => step.name)).toEqual(['netboot', 'reboot', 'repave']);
  expect(statusOf(await get(server, machineId)).conditions).toMatchObject({ Provisioned: true });
});

test('the time of a condition moves only when its status does', async () => {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
  await run(server, 'REIMAGE', machineId, { imageRef: 'one' });
  const before = await get(server, machineId);
  await run(server, 'REIMAGE', machineId, { imageRef: 'two' });
  const after = await get(server, machineId);
  // The machine came back each time; its image was gone in between.
  expect(conditionOf(after, 'Reachable')).toEqual(conditionOf(before, 'Reachable'));
  expect(conditionOf(after, 'Provisioned')?.lastTransition).not.toEqual(
    conditionOf(before, 'Provisioned')?.lastTransition,
  );
});

test('every move of the phase is in the history, with the operation that made it', async () => {
  const machineId = await newMachine(server, { phase: 'READY' });
  await run(server, 'REBOOT', machineId);
  const moves = await server.sql(
    `SELECT e.from_state, e.to_state, o.type FROM events e JOIN operations o USING (operation_id)
     WHERE e.machine_id = $1 AND e.kind = 'phase' ORDER BY event_id`,
    [machineId],
  );
  expect(moves).toEqual([
    { from_state: 'FACTORY_READY', to_state: 'MAINTENANCE', type: 'ENTER_MAINTENANCE' },
    { from_state: 'MAINTENANCE', to_state: 'READY', type: 'EXIT_MAINTENANCE' },
  ]);
});
