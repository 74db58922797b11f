// @module-tag extended: running.test.ts has plans; src/domain/machine has the phase.
/** Returning a machine that is in service: its run drains it first, and records what it observed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operationIdOf } from '../../src/domain/v1/run-id.ts';
import { conditionOf, fakeStateOf, get, newMachine, waitingAt } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import {
  CLUSTER,
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

beforeAll(async () => {
  server = await startTestServer();
  v1 = v1Of(server);
});
afterAll(() => server?.stop());

async function machineInService(labels: Record<string, string> = {}): Promise<string> {
  const machineId = await newMachine(server, { spec: CLUSTER, labels });
  expect(runPhase(await run(v1, 'REPAVE', machineId))).toBe('SUCCEEDED');
  expect((await view(v1, machineId)).phase).toBe('IN_SERVICE');
  return machineId;
}

describe('an RMA of a machine in service', () => {
  test('drains it, switches it off and leaves it in RMA', async () => {
    const machineId = await machineInService();
    const done = await run(v1, 'RMA', machineId);
    expect([runPhase(done), stepStates(done)]).toEqual(['SUCCEEDED', Array(3).fill('SUCCEEDED')]);
    expect(done.steps.map(({ name, message }) => [name, message])).toEqual([
      ['drain-check', `${machineId} is cordoned and drained`],
      ['graceful-shutdown', 'the machine is off'],
      ['mark-rma', 'flagged RMA'],
    ]);
    expect(await fakeStateOf(server, machineId)).toMatchObject({
      power: 'off',
      cordonedBy: operationIdOf(done.runId),
      drained: true,
    });
    expect(await view(v1, machineId)).toMatchObject({
      phase: 'RMA',
      conditions: { RMA: true, Drained: true },
    });
    const machine = await get(server, machineId);
    expect(conditionOf(machine, 'Drained')).toMatchObject({ status: true, reason: 'NodeDrained' });
    // As it was last seen: Ready, and taking no work.
    expect(conditionOf(machine, 'InCustomerCluster')).toMatchObject({ status: true, reason: 'NodeCordoned' });
  });

  test('asks the cluster, and not the conditions, whether something runs', async () => {
    const machineId = await machineInService({ 'fake/hang-step': 'drain' });
    // What an older version wrote down, and no probe has corrected.
    await server.sql(
      `UPDATE machines SET conditions = conditions ||
         '{"Drained": {"status": true, "reason": "OutOfCluster", "message": "", "lastTransition": "2026-01-01T00:00:00Z"}}'
       WHERE machine_id = $1`,
      [machineId],
    );
    const { runId } = await startRun(v1, 'RMA', machineId);
    const waiting = await waitingAt(server, { operationId: runId }, 'drain-check');
    expect(waiting.waitingFor).toMatch(/^waiting for .* to leave/);
    expect((await fakeStateOf(server, machineId)).power).toBe('on');
    await v1.runs.cancelRun({ runId });
    await runEnded(v1, { runId });
  });

  test('lets work come again where it is canceled while it drains', { tags: ['extended'] }, async () => {
    const machineId = await machineInService({ 'fake/hang-step': 'drain' });
    const { runId } = await startRun(v1, 'RMA', machineId);
    await waitingAt(server, { operationId: runId }, 'drain-check');
    expect((await fakeStateOf(server, machineId)).cordonedBy).toBe(operationIdOf(runId));
    await v1.runs.cancelRun({ runId });
    expect(runPhase(await runEnded(v1, { runId }))).toBe('CANCELED');
    expect(await fakeStateOf(server, machineId)).toMatchObject({ cordonedBy: '', drained: false });
    const machine = await get(server, machineId);
    expect(conditionOf(machine, 'InCustomerCluster')).toMatchObject({ status: true, reason: 'NodeReady' });
    expect(conditionOf(machine, 'Drained')).toMatchObject({ status: false, reason: 'NodeTakesWork' });
  });

  test('lets work come again where it is canceled after the drain, and returns the machine the next time', async () => {
    const machineId = await machineInService({ 'fake/hang-step': 'graceful-shutdown' });
    const { runId } = await startRun(v1, 'RMA', machineId);
    await runAt(v1, { runId }, 'graceful-shutdown');
    expect(conditionOf(await get(server, machineId), 'Drained')?.status).toBe(true);
    await v1.runs.cancelRun({ runId });
    await runEnded(v1, { runId });
    expect(await fakeStateOf(server, machineId)).toMatchObject({ cordonedBy: '' });
    expect(conditionOf(await get(server, machineId), 'Drained')?.status).toBe(false);
    await v1.machines.updateMachine({
      machine: { machineId, labels: { 'fake/step-ms': '1' }, spec: CLUSTER },
    });
    // In MAINTENANCE by the cancel, and still in its cluster: it is drained too.
    const done = await run(v1, 'RMA', machineId);
    expect(runPhase(done)).toBe('SUCCEEDED');
    expect((await fakeStateOf(server, machineId)).cordonedBy).toBe(operationIdOf(done.runId));
  });

  test('fails where the workloads do not leave, and says so', { tags: ['extended'] }, async () => {
    const machineId = await machineInService({ 'fake/fail-step': 'drain' });
    const { planId } = await server.admin.createPlan({
      plan: {
        planId: 'impatient-rma',
        steps: [{ name: 'check', maxRetries: 0, kind: { case: 'rma', value: { action: 'drain-check' } } }],
      },
    });
    const failed = await run(v1, 'RMA', machineId, { planId });
    expect(runPhase(failed)).toBe('FAILED');
    expect(failed.error).toMatchObject({
      message: 'the workloads did not leave',
      details: { step: 'check' },
    });
    expect((await fakeStateOf(server, machineId)).power).toBe('on');
  });

  test('of a machine that its cluster has lost goes on without having seen it drained', async () => {
    const machineId = await machineInService();
    await server.sql(`UPDATE fake_machines SET state = state || '{"power": "off"}' WHERE machine_id = $1`, [
      machineId,
    ]);
    const done = await run(v1, 'RMA', machineId);
    expect(runPhase(done)).toBe('SUCCEEDED');
    expect(done.steps[0]?.message).toContain("does not report, so what it carries can't be seen to end");
    const machine = await get(server, machineId);
    expect(conditionOf(machine, 'Drained')).toMatchObject({ status: false, reason: 'WorkloadsLeft' });
    expect(conditionOf(machine, 'InCustomerCluster')).toMatchObject({
      status: false,
      reason: 'NodeNotReady',
    });
  });
});
