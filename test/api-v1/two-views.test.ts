// @module-tag extended: running.test.ts and starting.test.ts have runs; v2 reads the same rows.
/** One machine, two APIs: what is done in either is seen in both, each in its own words. */
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Conditions } from '../../src/domain/condition/condition.ts';
import { sampleMachine } from '../../src/domain/machine/machine.fixture.ts';
import { operationIdOf, runIdOf } from '../../src/domain/v1/run-id.ts';
import { V1_PHASES, type V1Phase } from '../../src/domain/v1/v1-phase.ts';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { MachineSchema, MachineStatus_Phase } from '../../src/gen/baremetal/v1/machine_pb.ts';
import { OperationType } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { machineMessage } from '../../src/surfaces/rpc/v1/to-proto.ts';
import {
  ended,
  fresh,
  get,
  newMachine,
  phaseOf,
  run as runOperation,
  start,
  statusOf,
  waitingAt,
} from '../api/fleet.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { CLUSTER, run, runPhase, startRun, stepStates, type V1, v1Of, view, viewOf } from './runs.ts';

let server: TestServer;
let v1: V1;

beforeAll(async () => {
  server = await startTestServer();
  v1 = v1Of(server);
});
afterAll(() => server?.stop());

const SPEC = {
  sshEndpoint: '10.20.30.40:22',
  bmcEndpoint: '10.20.30.41',
  targetClusterRef: 'cluster-a',
  macAddresses: ['aa:bb:cc:dd:ee:ff'],
  provider: 'fake',
};

/** Each test has the hardware for itself: what earlier ones registered gives it up. */
beforeEach(async () => {
  await server.sql(`UPDATE machines SET spec = '{"provider": "fake"}' WHERE active_operation_id IS NULL`);
});

describe('a machine', () => {
  test('that was registered in v1 is the same machine in v2', async () => {
    const machineId = fresh('both');
    const labels = { env: 'prod', role: 'worker' };
    const registered = await v1.machines.registerMachine({ machine: { machineId, labels, spec: SPEC } });
    expect(registered).toMatchObject({ machineId, labels, spec: SPEC });
    expect(viewOf(registered)).toMatchObject({ phase: 'FACTORY_READY', effectiveState: 'FACTORY_READY' });
    const { spec, createdAt, ...other } = await get(server, machineId);
    expect(other).toMatchObject({ machineId, labels });
    expect(spec).toMatchObject(SPEC);
    expect(createdAt).toEqual(registered.createdAt);
    expect(statusOf({ spec, createdAt, ...other } as never)).toMatchObject({
      phase: 'FACTORY_READY',
      effectiveState: 'NEW',
    });
  });

  test('that was registered in v2 is the same machine in v1', async () => {
    const machineId = fresh('both');
    const registered = await server.machines.registerMachine({
      machine: { machineId, labels: { a: 'b' }, spec: SPEC },
    });
    const seen = await v1.machines.getMachine({ machineId });
    expect(seen).toMatchObject({ machineId, labels: { a: 'b' }, spec: SPEC });
    expect(seen.createdAt).toEqual(registered.createdAt);
  });

  test('without an id gets one, and a provider if it names none', async () => {
    const { machineId, spec } = await v1.machines.registerMachine({ machine: {} });
    expect(machineId).toMatch(/^m-/);
    expect(spec?.provider).toBe('fake');
    expect((await get(server, machineId)).machineId).toBe(machineId);
  });

  test('that is registered again gets the new labels and spec and keeps its status', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: { old: 'yes' } });
    const status = { phase: MachineStatus_Phase.RETIRED, activeRunId: 'op-forged', banners: ['Degraded'] };
    const again = await v1.machines.registerMachine({
      machine: { machineId, labels: { new: 'yes' }, spec: SPEC, status },
    });
    expect(again).toMatchObject({ labels: { new: 'yes' }, spec: SPEC });
    expect(again.labels).not.toHaveProperty('old');
    expect(viewOf(again)).toMatchObject({ phase: 'MAINTENANCE', activeRunId: '', banners: [] });
    const { machines } = await server.machines.listMachines({ filter: `machine_id=${machineId}` });
    expect(machines).toHaveLength(1);
  });

  test('that is updated in v1 is changed as the mask says, in both', async () => {
    const machineId = await newMachine(server, { labels: { keep: '1', drop: '1' }, spec: SPEC });
    const updated = await v1.machines.updateMachine({
      machine: { machineId, labels: { added: '1' }, spec: { sshEndpoint: '10.0.0.9:22' } },
      updateMask: { paths: ['labels.added', 'labels.drop', 'spec.ssh_endpoint'] },
    });
    expect(updated.labels).toEqual({ 'fake/step-ms': '1', keep: '1', added: '1' });
    expect(updated.spec).toMatchObject({ ...SPEC, sshEndpoint: '10.0.0.9:22' });
    expect((await get(server, machineId)).labels).toEqual(updated.labels);
    const whole = await v1.machines.updateMachine({ machine: { machineId, labels: { only: '1' } } });
    expect(whole.labels).toEqual({ only: '1' });
    expect(whole.spec).toMatchObject({ ...SPEC, sshEndpoint: '10.0.0.9:22' });
  });

  test('that is unknown is not found in v1 either', async () => {
    for (const call of [
      () => v1.machines.getMachine({ machineId: 'nobody' }),
      () => v1.machines.updateMachine({ machine: { machineId: 'nobody', labels: { a: 'b' } } }),
    ]) {
      expect(await refusal(call())).toMatchObject({
        code: 'NOT_FOUND',
        reason: 'MACHINE_NOT_FOUND',
        metadata: { machine_id: 'nobody' },
      });
    }
  });

  test('with an operation of v2 under way is PROVISIONING, and names it as its run', async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
    expect(await view(v1, machineId)).toMatchObject({ phase: 'READY', activeRunId: '' });
    const { operationId } = await start(server, 'REBOOT', machineId);
    expect(await view(v1, machineId)).toMatchObject({
      phase: 'PROVISIONING',
      effectiveState: 'PROVISIONING',
      activeRunId: runIdOf(operationId),
    });
    await v1.runs.cancelRun({ runId: operationId });
    await ended(server, { operationId });
    expect(await view(v1, machineId)).toMatchObject({ phase: 'READY', activeRunId: '' });
  });

  test('is found by its active run, in either spelling of the id, and by having none', async () => {
    const busy = await newMachine(server, { labels: { 'fake/hang-step': 'reboot' } });
    const idle = await newMachine(server);
    const { runId } = await startRun(v1, 'REBOOT', busy);
    const ulid = runId.slice(runId.indexOf('-') + 1);
    const found = async (filter: string) => {
      const { machines } = await v1.machines.listMachines({
        filter: `(machine_id=${busy} OR machine_id=${idle}) AND ${filter}`,
      });
      return machines.map(({ machineId }) => machineId);
    };
    for (const filter of [
      `active_run_id=${runId}`,
      `active_run_id=run-${ulid}`,
      `active_run_id=op-${ulid}`,
      `active_run_id=run-${ulid.slice(0, 10)}*`,
      `active_run_id:${ulid.slice(4)}`,
      'active_run_id!=""',
      'active_run_id:*',
    ])
      expect([filter, await found(filter)]).toEqual([filter, [busy]]);
    expect(await found('active_run_id=""')).toEqual([idle]);
    const byOperation = `machine_id=${busy} AND active_operation_id=run-${ulid}`;
    expect((await server.machines.listMachines({ filter: byOperation })).machines).toHaveLength(1);
    await v1.runs.cancelRun({ runId });
  });

  test('shows the conditions of v2 with reason, message and time', async () => {
    const machineId = await newMachine(server);
    await server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'bad DIMM' });
    const [there, here] = [await get(server, machineId), await v1.machines.getMachine({ machineId })];
    const flag = here.status?.conditions.find(({ type }) => type === 'RMA');
    expect(flag).toMatchObject({ type: 'RMA', status: true, reason: 'SetByAdmin', message: 'bad DIMM' });
    expect(flag?.lastTransition).toEqual(
      there.status?.conditions.find(({ type }) => type === 'RMA')?.lastTransition,
    );
  });
});

describe('banners', () => {
  function bannersOf(...types: Array<keyof Conditions>): readonly string[] {
    const conditions = Object.fromEntries(
      types.map((type) => [type, { status: true, reason: '', message: '', lastTransition: '2026-01-01' }]),
    );
    return create(MachineSchema, machineMessage(sampleMachine({ conditions }))).status?.banners ?? [];
  }

  test('are NeedsIntervention and Degraded, where they are true', () => {
    expect(bannersOf()).toEqual([]);
    expect(bannersOf('Reachable', 'OperationCanceled', 'RMA')).toEqual([]);
    expect(bannersOf('Degraded')).toEqual(['Degraded']);
    expect(bannersOf('Degraded', 'NeedsIntervention')).toEqual(['NeedsIntervention', 'Degraded']);
  });

  test('lie over the effective state, and do not replace it', async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/fail-step': 'verify' } });
    await server.machines.updateMachine({
      machine: { machineId, spec: CLUSTER },
      updateMask: { paths: ['spec.target_cluster_ref'] },
    });
    expect(runPhase(await run(v1, 'JOIN', machineId))).toBe('FAILED');
    expect(await view(v1, machineId)).toMatchObject({
      effectiveState: 'MAINTENANCE',
      banners: ['NeedsIntervention'],
    });
    await server.admin.clearNeedsIntervention({ machineId, reason: 'inspected it' });
    expect((await view(v1, machineId)).banners).toEqual([]);
  });
});

describe('each phase of the v1 API', () => {
  const members: Partial<Record<V1Phase, string>> = {};

  beforeAll(async () => {
    const flagged = async (flag: MachineFlag_Value) => {
      const machineId = await newMachine(server);
      await server.admin.flagMachine({ machineId, flag, reason: 'test' });
      return machineId;
    };
    members.FACTORY_READY = await newMachine(server);
    members.READY = await newMachine(server, { phase: 'READY' });
    members.MAINTENANCE = await newMachine(server, { phase: 'MAINTENANCE' });
    members.RMA = await flagged(MachineFlag_Value.RMA);
    members.RETIRED = await flagged(MachineFlag_Value.RETIRED);
    members.IN_SERVICE = await newMachine(server, { spec: CLUSTER });
    await run(v1, 'JOIN', members.IN_SERVICE);
    members.PROVISIONING = await newMachine(server, { labels: { 'fake/hang-step': 'reboot' } });
    const { runId } = await startRun(v1, 'REBOOT', members.PROVISIONING);
    await waitingAt(server, { operationId: runId }, 'reboot');
  });

  const ours = () =>
    Object.values(members)
      .map((id) => `machine_id=${id}`)
      .join(' OR ');

  test.each(V1_PHASES)(
    '%s can be asked for, and is what the machines show',
    { tags: ['extended'] },
    async (phase) => {
      for (const field of ['phase', 'effective_state']) {
        const { machines } = await v1.machines.listMachines({ filter: `${field}=${phase} AND (${ours()})` });
        expect(machines.map(({ machineId }) => machineId)).toEqual([members[phase]]);
        expect(viewOf(machines[0] as never)).toMatchObject({ phase, effectiveState: phase });
        const others = await v1.machines.listMachines({ filter: `NOT ${field}=${phase} AND (${ours()})` });
        expect(others.machines).toHaveLength(V1_PHASES.length - 1);
      }
    },
  );

  test('is unknown to the other API, and the other’s states to this one', async () => {
    const error = await refusal(v1.machines.listMachines({ filter: 'phase=BUSY' }));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FILTER' });
    for (const phase of V1_PHASES) expect(error.message).toContain(phase);
    for (const filter of ['effective_state=IDLE', 'effective_state=BLOCKED']) {
      expect((await refusal(v1.machines.listMachines({ filter }))).reason).toBe('INVALID_FILTER');
    }
    expect((await refusal(server.machines.listMachines({ filter: 'phase=IN_SERVICE' }))).reason).toBe(
      'INVALID_FILTER',
    );
  });

  test('pages through a list of machines without losing or repeating one', async () => {
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = await v1.machines.listMachines({ filter: ours(), pageSize: 3, pageToken });
      seen.push(...page.machines.map(({ machineId }) => machineId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(seen).toEqual(Object.values(members).toSorted());
  });
});

describe('a run', () => {
  test.each([
    ['REPAVE', 'REIMAGE', 'default-repave'],
    ['RMA', 'RMA', 'default-rma'],
    ['REBOOT', 'REBOOT', 'default-reboot'],
    ['NET_RECONFIG', 'NET_RECONFIG', 'default-net-reconfig'],
    ['JOIN', 'JOIN', 'default-join'],
    ['UPGRADE', 'UPGRADE', 'default-upgrade'],
  ])('of type %s is an operation of type %s, with its plan and its steps', async (type, inV2, planId) => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    if (type === 'UPGRADE') await run(v1, 'JOIN', machineId);
    const started = await startRun(v1, type, machineId, { requestId: 'same-words' });
    expect(started).toMatchObject({ machineId, type, planId, requestId: 'same-words' });
    const done = await run(v1, type, machineId, { requestId: 'same-words' });
    expect(runPhase(done)).toBe('SUCCEEDED');
    const operation = await server.operations.getOperation({ operationId: done.runId });
    expect(OperationType[operation.type]).toBe(inV2);
    expect(phaseOf(operation)).toBe('SUCCEEDED');
    expect(operation).toMatchObject({
      operationId: operationIdOf(done.runId),
      machineId,
      requestId: 'same-words',
      planId,
      startedBy: done.startedBy,
      createdAt: done.createdAt,
      finishedAt: done.finishedAt,
    });
    const common = ({ steps }: Pick<typeof operation, 'steps'>) =>
      steps.map(({ name, kind, retryCount, message }) => ({ name, kind, retryCount, message }));
    expect(common(operation)).toEqual(common(done as never));
    expect(stepStates(done)).toEqual(done.steps.map(() => 'SUCCEEDED'));
    const { operations } = await server.operations.listOperations({
      filter: `machine_id=${machineId} AND type=${inV2} AND plan_id=${planId}`,
    });
    expect(operations.map(({ operationId }) => operationId)).toEqual([operationIdOf(done.runId)]);
  });

  test('keeps what it was really started with, for auditing in v2', async () => {
    const machineId = await newMachine(server, { spec: CLUSTER });
    const { runId } = await run(v1, 'REPAVE', machineId);
    expect((await server.operations.getOperation({ operationId: runId })).params).toEqual({
      image_ref: 'ubuntu-2204',
      cluster_ref: 'cluster-a',
    });
  });

  test('is what operations of v2 are listed as, with their own types', async () => {
    const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
    const reimage = await runOperation(server, 'REIMAGE', machineId);
    await runOperation(server, 'REBOOT', machineId);
    await runOperation(server, 'EXIT_MAINTENANCE', machineId);
    const { runs } = await v1.runs.listRuns({ filter: `machine_id=${machineId}` });
    expect(runs.map(({ type, planId }) => [type, planId])).toEqual([
      ['EXIT_MAINTENANCE', ''],
      ['REBOOT', ''],
      ['REPAVE', ''],
      ['ENTER_MAINTENANCE', ''],
    ]);
    const seen = await v1.runs.getRun({ runId: reimage.operationId });
    expect([seen.type, runPhase(seen), seen.steps.map(({ name }) => name)]).toEqual([
      'REPAVE',
      'SUCCEEDED',
      ['netboot', 'reboot', 'repave'],
    ]);
  });
});
