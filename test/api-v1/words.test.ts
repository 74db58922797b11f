/** The v1 API uses only the words of docs/api-v1.md, and accepts both spellings of an id wherever it takes one. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fresh, newMachine, run as runOperation, start, waitingAt } from '../api/fleet.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { CLUSTER, newPlan, run, runEnded, startRun, stepStates, type V1, v1Of } from './runs.ts';

let server: TestServer;
let v1: V1;

beforeAll(async () => {
  server = await startTestServer();
  v1 = v1Of(server);
});
afterAll(() => server?.stop());

const FOREIGN = /\boperations?\b|\bREIMAGE\b|\bop-|Reimage/;
const asOperation = (runId: string) => runId.replace('run-', 'op-');

/** A run that hangs, and its machine. */
async function hanging(type = 'REBOOT') {
  const machineId = await newMachine(server, {
    phase: 'MAINTENANCE',
    spec: CLUSTER,
    labels: { 'fake/hang-step': 'reboot' },
  });
  const { runId } = await startRun(v1, type, machineId);
  await waitingAt(server, { operationId: runId }, 'reboot');
  return { machineId, runId };
}

describe('the id of a run', () => {
  test('is run-… in v1 and op-… in v2, and each API takes both', async () => {
    const { machineId, runId } = await hanging();
    const operationId = asOperation(runId);
    expect(runId).toMatch(/^run-[0-9a-z]{26}$/);
    const fleet = server.client(FleetService, server.adminToken);
    for (const id of [runId, operationId]) {
      expect((await v1.runs.getRun({ runId: id })).runId).toBe(runId);
      expect((await server.operations.getOperation({ operationId: id })).operationId).toBe(operationId);
      expect((await v1.runs.listRuns({ filter: `run_id=${id}` })).runs[0]?.runId).toBe(runId);
      const { operations } = await server.operations.listOperations({ filter: `operation_id=${id}` });
      expect(operations.map((operation) => operation.operationId)).toEqual([operationId]);
      const { machines } = await v1.machines.listMachines({ filter: `active_run_id=${id}` });
      expect(machines.map(({ status }) => status?.activeRunId)).toEqual([runId]);
      const inV2 = await server.machines.listMachines({ filter: `active_operation_id=${id}` });
      expect(inV2.machines.map((machine) => machine.machineId)).toEqual([machineId]);
      const { events } = await fleet.listEvents({ filter: `operation_id=${id}`, pageSize: 1 });
      expect(events.map((event) => event.operationId)).toEqual([operationId]);
      for await (const { snapshot } of v1.runs.watchRuns({ filter: `run_id=${id}` })) {
        expect(snapshot?.runId).toBe(runId);
        break;
      }
      for await (const { snapshot } of server.operations.watchOperations({ filter: `operation_id=${id}` })) {
        expect(snapshot?.operationId).toBe(operationId);
        break;
      }
    }
    expect((await v1.runs.cancelRun({ runId: operationId })).runId).toBe(runId);
    await runEnded(v1, { runId });
    for (const id of [runId, operationId]) {
      for await (const chunk of v1.runs.streamRunLogs({ runId: id })) expect(chunk.runId).toBe(runId);
      const logs = server.operations.streamOperationLogs({ operationId: id });
      for await (const chunk of logs) expect(chunk.operationId).toBe(operationId);
      expect((await server.admin.listOperatorActions({ operationId: id })).actions).toHaveLength(1);
      expect((await server.machines.cancelOperation({ operationId: id })).operationId).toBe(operationId);
    }
  });

  test('is the one that an operation of v2 has', async () => {
    const machineId = await newMachine(server, { phase: 'READY' });
    const { operationId } = await runOperation(server, 'REBOOT', machineId);
    const { runs } = await v1.runs.listRuns({ filter: `machine_id=${machineId} AND type=REBOOT` });
    expect(runs.map(({ runId }) => asOperation(runId))).toEqual([operationId]);
  });
});

describe('a refusal', () => {
  test('says "no run"', async () => {
    for (const runId of ['run-none', 'op-none']) {
      for (const call of [
        () => v1.runs.getRun({ runId }),
        () => v1.runs.cancelRun({ runId }),
        () => v1.runs.streamRunLogs({ runId }),
      ]) {
        const refused = await refusal(call());
        expect([refused.code, refused.message]).toEqual(['NOT_FOUND', 'there is no run run-none']);
        expect(refused.metadata).toMatchObject({ run_id: 'run-none' });
      }
    }
  });

  test('names the active run, the ended one and the one that had the request id as runs', async () => {
    const { machineId, runId } = await hanging('REPAVE');
    const requestId = fresh('request');
    await server.machines.enterMaintenance({ machineId: await newMachine(server), requestId });
    const other = await newMachine(server, { phase: 'MAINTENANCE' });
    const reimage = await start(server, 'REIMAGE', other, { requestId });
    const refusals = [
      await refusal(startRun(v1, 'REBOOT', machineId)),
      await refusal(startRun(v1, 'REBOOT', other, { requestId })),
      await refusal(v1.runs.getRun({ runId: '!' })),
    ];
    expect((await refusal(start(server, 'REBOOT', machineId))).message).not.toContain('run-');
    await v1.runs.cancelRun({ runId });
    await runEnded(v1, { runId: reimage.operationId });
    refusals.push(await refusal(v1.runs.cancelRun({ runId: reimage.operationId })));
    expect(refusals.map(({ reason }) => reason)).toEqual([
      'OPERATION_ACTIVE',
      'REQUEST_ID_REUSED',
      'INVALID_FIELD',
      'OPERATION_FINISHED',
    ]);
    expect(refusals[0]?.message).toBe(`${machineId} has an active run, ${runId}; wait for it or cancel it`);
    expect(refusals[0]?.violations).toMatchObject([{ subject: `runs/${runId}` }]);
    expect(refusals[1]?.message).toContain('(REPAVE)');
    for (const { message, violations } of refusals)
      expect(JSON.stringify([message, violations])).not.toMatch(FOREIGN);
  });

  test('of a machine whose name has such words leaves the name alone', async () => {
    for (const machineId of ['operation-1', 'REIMAGE', 'op-1', 'my.operation']) {
      const { message } = await refusal(v1.machines.getMachine({ machineId }));
      expect(message).toContain(machineId === 'REIMAGE' ? 'machine' : machineId);
    }
  });
});

describe('the conditions of a machine', () => {
  test('have REPAVE, and the run by its id, and can be filtered by what they show', async () => {
    const machineId = await newMachine(server, { labels: { 'fake/fail-step': 'write' } });
    const { planId } = await newPlan(server, [
      { name: 'write', maxRetries: 0, kind: { case: 'repave', value: { image: 'debian-13' } } },
    ]);
    const { runId } = await run(v1, 'REPAVE', machineId, { planId });
    const failed = (await v1.machines.getMachine({ machineId })).status?.conditions;
    expect(failed?.find(({ type }) => type === 'NeedsIntervention')).toMatchObject({
      reason: 'RepaveFailed',
      message: expect.stringMatching(new RegExp(`^REPAVE ${runId} failed at write: `)),
    });
    const filter = `machine_id=${machineId} AND attention_reason=RepaveFailed`;
    expect((await v1.machines.listMachines({ filter })).machines).toHaveLength(1);
    await server.machines.updateMachine({
      machine: { machineId },
      updateMask: { paths: ['labels.fake/fail-step'] },
    });
    await run(v1, 'REPAVE', machineId, { planId });
    const healed = (await v1.machines.getMachine({ machineId })).status?.conditions;
    for (const { reason, message } of healed ?? []) expect(`${reason} ${message}`).not.toMatch(FOREIGN);
    const inV2 = (await server.machines.getMachine({ machineId })).status?.conditions;
    expect(inV2?.find(({ type }) => type === 'NeedsIntervention')?.message).toContain('REIMAGE op-');
  });

  test('leave alone what a person wrote', async () => {
    const machineId = await newMachine(server);
    const reason = 'REIMAGE did not help; see the operation';
    await server.admin.flagMachine({ machineId, flag: 1, reason });
    const { status } = await v1.machines.getMachine({ machineId });
    expect(status?.conditions.find(({ type }) => type === 'RMA')?.message).toBe(reason);
  });
});

describe('a step that was undone', () => {
  test('says of a cordon that is not its own that it was there before', async () => {
    const machineId = await newMachine(server, { labels: { 'fake/hang-step': 'cordon' }, spec: CLUSTER });
    const state = JSON.stringify({ clusterRef: CLUSTER.targetClusterRef, cordonedBy: 'op-other' });
    await server.sql('INSERT INTO fake_machines (machine_id, state) VALUES ($1, $2)', [machineId, state]);
    const { runId } = await startRun(v1, 'UPGRADE', machineId);
    await until(
      () => v1.runs.getRun({ runId }),
      ({ currentStep }) => currentStep === 'cordon',
    );
    await v1.runs.cancelRun({ runId });
    const [cordon] = (await runEnded(v1, { runId })).steps;
    expect(cordon?.message).toBe('undone: the node stays cordoned: it was cordoned before');
  });

  test('is SUCCEEDED with "undone" in its message if it had succeeded, and FAILED if it had not', async () => {
    const machineId = await newMachine(server, { labels: { 'fake/hang-step': 'repave-os' }, spec: CLUSTER });
    const { runId } = await startRun(v1, 'REPAVE', machineId);
    await waitingAt(server, { operationId: runId }, 'repave-os');
    await v1.runs.cancelRun({ runId });
    const canceled = await runEnded(v1, { runId });
    expect(stepStates(canceled)).toEqual(['SUCCEEDED', 'FAILED', 'WAITING', 'WAITING', 'WAITING']);
    const [netboot, repave] = canceled.steps;
    expect(netboot?.message).toBe('undone: next boot from disk');
    expect(repave?.message).toContain('undone');
  });
});
