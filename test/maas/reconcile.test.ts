// @module-tag extended: reconcilers/upstream-sweep.test.ts has the sweeps; this has what follows from them.
/** What Ingot does when MAAS changes machines by itself, when agents are lost, and when MAAS is down. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OperatorAction_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { newMachine as newFakeMachine, run } from '../api/fleet.ts';
import type { TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { callFor, maasAt, type TestMaas } from './call.ts';
import {
  ended,
  type MaasSite,
  newMachine,
  onboard,
  openMaasSite,
  startMaasServer,
  statusOf,
} from './fleet.ts';

const TIME_LIMIT = 120_000;
/** Agents of the simulated MAAS send three keepalives a second. */
const SILENCE_SECONDS = 4;
/** Some rounds of the reconciler, in which nothing must happen. */
const A_WHILE_MS = 4_000;

let site: MaasSite;
let mortal: MaasSite;
let maas: TestMaas['maas'];
let closeMaas: () => void;
let server: TestServer;

beforeAll(async () => {
  [site, mortal] = await Promise.all([openMaasSite({ keepaliveMs: 300 }), openMaasSite()]);
  ({ maas, remove: closeMaas } = maasAt(site.simulator));
  server = await startMaasServer(site, {
    providers: { ...site.providers, 'site-b': mortal.configuration },
    probes: { intervalSeconds: 1 },
    keepaliveTtlSeconds: SILENCE_SECONDS,
  });
}, TIME_LIMIT);
afterAll(async () => {
  mortal?.simulator.thaw();
  await server?.stop();
  closeMaas?.();
  await site?.stop();
  await mortal?.stop();
});

function conditionOf({ conditions }: Awaited<ReturnType<typeof statusOf>>, type: string) {
  return conditions.find((condition) => condition.type === type);
}

type Machine = Awaited<ReturnType<typeof newMachine>>;

async function inService(provider = 'site-a'): Promise<Machine> {
  const machine = await newMachine(server, { provider });
  expect(await ended(server, await onboard(server, machine.id))).toMatchObject({ status: 'completed' });
  return machine;
}

async function systemIdOf({ mac }: Machine): Promise<string> {
  const all = await site.simulator.admin.machines();
  return all.find(({ mac_addresses: macs }) => macs.includes(mac))?.system_id ?? '';
}

const RELEASE = { erase: false, secureErase: false, quickErase: false, comment: 'by a MAAS user' };

/** A MAAS user releases it and deploys it again with what it had, without Ingot. */
async function deployAgain(systemId: string, userData: string): Promise<void> {
  await maas.release(callFor(), systemId, RELEASE);
  await until(
    () => maas.read(callFor(), systemId),
    (seen) => seen?.status === 'Ready',
    20_000,
  );
  const deployment = { osystem: 'ubuntu', distroSeries: 'jammy', enableHardwareSync: true, userData };
  await maas.deploy(callFor(), systemId, deployment);
}

function serviceIs(machineId: string, service: string) {
  return until(
    () => statusOf(server, machineId),
    (status) => status.service === service,
    60_000,
  );
}

async function history(machineId: string, kind: 'service' | 'observed'): Promise<string[]> {
  const rows = await server.sql<{ line: string }>(
    `SELECT concat_ws(' ', from_state || '>' || to_state, 'by ' || actor_id, nullif(comment, '')) AS line
     FROM events WHERE machine_id = $1 AND kind = $2 ORDER BY event_id`,
    [machineId, kind],
  );
  return rows.map(({ line }) => line);
}

/** An onboarding that an operator holds while MAAS goes on with it. */
async function heldOnboarding() {
  const machine = await newMachine(server);
  const { operationId } = await onboard(server, machine.id);
  await until(
    async () => maas.findByMac(callFor(), [machine.mac]),
    ([seen]) => seen?.status === 'Deploying' || seen?.status === 'Deployed',
    60_000,
  );
  await server.admin.actOnOperation({
    operationId,
    action: OperatorAction_Value.MARK_MANUAL_INTERVENTION_REQUIRED,
    reason: 'not today',
  });
  return { ...machine, operationId };
}

async function stays(machineId: string, service: string): Promise<void> {
  await until(
    () => statusOf(server, machineId),
    ({ presence, observed }) => presence === 'ready' && observed?.state === 'Deployed',
    60_000,
  );
  await sleep(A_WHILE_MS);
  expect(await statusOf(server, machineId)).toMatchObject({ service, presence: 'ready' });
}

describe.concurrent('a machine in service', () => {
  it(
    'is quarantined when MAAS says Broken, and back when it is deployed again and its agent responds',
    async () => {
      const machine = await inService();
      const systemId = await systemIdOf(machine);
      const { user_data: userData } = await site.simulator.admin.machine(systemId);
      await maas.markBroken(callFor(), systemId, 'smoke');
      const quarantined = await serviceIs(machine.id, 'quarantined');
      expect(quarantined.observed).toMatchObject({ state: 'Broken', source: 'site-a' });
      await deployAgain(systemId, userData);
      await serviceIs(machine.id, 'active');
      const service = await history(machine.id, 'service');
      expect(service.filter((line) => line.includes('quarantined'))).toEqual([
        expect.stringMatching(
          /^(active|offline)>quarantined by drift the upstream says Broken; a node that is/,
        ),
        'quarantined>active by drift the upstream says Deployed again, and the agent is ready',
      ]);
      // A change is recorded once, and not again with every probe.
      const all = await history(machine.id, 'observed');
      const seen = all.slice(all.indexOf('Deployed>Broken by drift'));
      expect(seen[0]).toBe('Deployed>Broken by drift');
      expect(seen.at(-1)).toMatch(/>Deployed by drift$/);
      expect(new Set(seen).size).toBe(seen.length);
    },
    TIME_LIMIT,
  );

  it.each(['Ready', 'absent'])(
    'is quarantined when MAAS says %s',
    { tags: ['extended'], timeout: TIME_LIMIT },
    async (state) => {
      const machine = await inService();
      const systemId = await systemIdOf(machine);
      if (state === 'Ready') await maas.release(callFor(), systemId, RELEASE);
      else await site.simulator.admin.removeMachine(systemId);
      await serviceIs(machine.id, 'quarantined');
      await until(
        () => statusOf(server, machine.id),
        ({ observed }) => observed?.state === state,
        20_000,
      );
      const explained = await server.admin.explainMachine({ machineId: machine.id });
      const cause = state === 'absent' ? 'its record in site-a is gone' : 'site-a says Ready';
      expect(explained.obstacles[0]).toMatchObject({ action: 'onboard' });
      expect(explained.obstacles[0]?.what).toContain(`it is quarantined: ${cause} (the upstream says `);
      expect((await history(machine.id, 'service')).at(-1)).toMatch(
        />quarantined by drift the upstream says/,
      );
    },
  );

  it('that drifted says what, since when and as seen when; is not Provisioned; and is onboarded again from there', {
    timeout: TIME_LIMIT,
    tags: ['extended'],
  }, async () => {
    const machine = await inService();
    const { id } = machine;
    await maas.release(callFor(), await systemIdOf(machine), RELEASE);
    await serviceIs(id, 'quarantined');
    const observed = await until(
      async () => (await statusOf(server, id)).observed,
      (seen) => seen?.state === 'Ready',
      20_000,
    );
    expect(conditionOf(await statusOf(server, id), 'Provisioned')).toMatchObject({
      status: false,
      reason: 'UpstreamNotDeployed',
    });
    const { summary, upstream, obstacles } = await server.admin.explainMachine({ machineId: id });
    expect(summary).toMatch(
      /is not in service: it is quarantined: site-a says Ready \(.*\), seen \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\.$/,
    );
    expect(upstream).toMatchObject({
      ...{ source: 'site-a', state: 'Ready', expected: ['Deployed'], acceptedBy: '' },
      disagreement: 'site-a says Ready, and a node that is active should be Deployed',
    });
    const ms = (at?: { seconds: bigint; nanos: number }) => (at ? timestampMs(at as Timestamp) : 0);
    expect(ms(upstream?.seenAt)).toBeGreaterThanOrEqual(ms(upstream?.since));
    expect(ms(observed?.seenAt)).toBeGreaterThan(0);
    expect(obstacles[0]).toMatchObject({ action: 'onboard', params: { pool: 'gpu' } });
    // It is seen again and again, and nothing is written for that.
    const [{ updated_at: before } = { updated_at: new Date(0) }] = await server.sql<{ updated_at: Date }>(
      'SELECT updated_at FROM machines WHERE machine_id = $1',
      [id],
    );
    await until(
      async () => ms((await statusOf(server, id)).observed?.seenAt),
      (seenAt) => seenAt > ms(observed?.seenAt) && seenAt > before.getTime(),
      20_000,
    );
    expect(await ended(server, await onboard(server, id))).toMatchObject({ status: 'completed' });
    await serviceIs(id, 'active');
    expect(conditionOf(await statusOf(server, id), 'Provisioned')).toMatchObject({ status: true });
  });

  it('is not put back by hand while MAAS disagrees, unless it is forced with a reason; which holds while MAAS says the same', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const machine = await inService();
    const { id } = machine;
    const systemId = await systemIdOf(machine);
    await maas.markBroken(callFor(), systemId, 'smoke');
    await serviceIs(id, 'quarantined');
    const call = { machineId: id, service: 'active', reason: 'only a flag' };
    await expect(server.admin.setServiceState(call)).rejects.toMatchObject({
      reason: 'UPSTREAM_DISAGREES',
      message: expect.stringContaining('site-a says Broken, and a node that is active should be Deployed'),
    });
    await server.admin.setServiceState({ ...call, force: true });
    await sleep(A_WHILE_MS);
    expect(['active', 'offline']).toContain((await statusOf(server, id)).service);
    expect(await history(id, 'service')).toContain(
      'quarantined>active by admin forced, although site-a says Broken, and a node that is active should be Deployed: only a flag',
    );
    const { upstream } = await server.admin.explainMachine({ machineId: id });
    expect(upstream).toMatchObject({ acceptedBy: 'admin:admin', acceptedReason: 'only a flag' });
    // Another state of the upstream is another question.
    await site.simulator.admin.removeMachine(systemId);
    await serviceIs(id, 'quarantined');
  });

  it('is offline while its agent is lost, and active when it responds again', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const machine = await inService();
    const systemId = await systemIdOf(machine);
    await maas.powerOff(callFor(), systemId);
    await serviceIs(machine.id, 'offline');
    await until(
      () => statusOf(server, machine.id),
      ({ observed }) => observed?.power === 'off' && observed.state === 'Deployed',
      20_000,
    );
    await maas.powerOn(callFor(), systemId);
    await serviceIs(machine.id, 'active');
    expect((await history(machine.id, 'service')).map((line) => line.split(' ')[0])).toEqual([
      '>enrolling',
      'enrolling>active',
      'active>offline',
      'offline>active',
    ]);
  });
});

describe.concurrent('an onboarding', () => {
  it('that failed, and came true without us, is adopted and ends reconciled', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const machine = await newMachine(server);
    await site.simulator.admin.fault({ fault: 'deployment_failure', mac: machine.mac });
    const operation = await ended(server, await onboard(server, machine.id));
    expect(operation).toMatchObject({
      status: 'failed_manual_intervention',
      error: { code: 'DEPLOYMENT_FAILED' },
    });
    const systemId = await systemIdOf(machine);
    const { user_data: userData } = await site.simulator.admin.machine(systemId);
    await deployAgain(systemId, userData);
    const adopted = await until(
      () => server.operations.getOperation({ operationId: operation.operationId }),
      ({ status }) => status === 'reconciled',
      60_000,
    );
    expect(adopted.error).toBeUndefined();
    expect(await statusOf(server, machine.id)).toMatchObject({ service: 'active', activeOperationId: '' });
    expect(await history(machine.id, 'service')).toEqual([
      expect.stringContaining('>enrolling'),
      expect.stringContaining('enrolling>active'),
    ]);
    const [recorded] = await server.sql<{ comment: string; actor_id: string }>(
      `SELECT comment, actor_id FROM events WHERE operation_id = $1 AND comment LIKE 'adopt_observed_state:%'`,
      [operation.operationId],
    );
    expect(recorded).toEqual({
      comment: 'adopt_observed_state: the upstream says Deployed, and the agent is ready',
      actor_id: 'drift',
    });
  });

  it('that an operator holds stays held, whatever is observed, until the operator adopts it', {
    timeout: TIME_LIMIT,
    tags: ['extended'],
  }, async () => {
    const { id, operationId } = await heldOnboarding();
    await stays(id, 'enrolling');
    const held = await server.operations.getOperation({ operationId });
    expect(held).toMatchObject({ status: 'failed_manual_intervention', error: { code: 'HELD' } });
    const action = OperatorAction_Value.ADOPT_OBSERVED_STATE;
    await server.admin.actOnOperation({ operationId, action, reason: 'it is well' });
    expect(await ended(server, { operationId })).toMatchObject({ status: 'reconciled' });
    await serviceIs(id, 'active');
  });

  it('whose machine an operator quarantined leaves it there, until the operator says that it is healthy', {
    timeout: TIME_LIMIT,
    tags: ['extended'],
  }, async () => {
    const { id } = await heldOnboarding();
    await server.admin.setServiceState({ machineId: id, service: 'quarantined', reason: 'suspicious' });
    await stays(id, 'quarantined');
    await expect(onboard(server, id)).rejects.toMatchObject({ reason: 'QUARANTINED_BY_PERSON' });
    const { obstacles } = await server.admin.explainMachine({ machineId: id });
    expect(JSON.stringify(obstacles)).not.toContain('onboard');
    await server.admin.setServiceState({ machineId: id, service: 'active', reason: 'inspected it' });
    expect(await statusOf(server, id)).toMatchObject({ service: 'active' });
  });
});

/** One after the other: the second takes every fault away. */
describe('an onboarding whose machine goes another way', () => {
  async function failedCommissioning() {
    const machine = await newMachine(server);
    await site.simulator.admin.fault({ fault: 'commissioning_failure', mac: machine.mac, times: null });
    const operation = await ended(server, await onboard(server, machine.id));
    expect(operation).toMatchObject({ status: 'failed_retryable', error: { code: 'COMMISSIONING_FAILED' } });
    return { ...machine, operationId: operation.operationId };
  }
  const became = (operationId: string, status: string) =>
    until(
      () => server.operations.getOperation({ operationId }),
      (operation) => operation.status === status,
      60_000,
    );

  it('can be retried as long as MAAS says what the stage left; when it vanishes, an operator must decide, and the reason is given', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const machine = await failedCommissioning();
    await sleep(A_WHILE_MS);
    expect((await became(machine.operationId, 'failed_retryable')).error?.code).toBe('COMMISSIONING_FAILED');
    await site.simulator.admin.removeMachine(await systemIdOf(machine));
    const moved = await became(machine.operationId, 'failed_manual_intervention');
    expect(moved.error).toMatchObject({ code: 'UPSTREAM_DRIFTED' });
    expect(moved.error?.message).toMatch(
      /the upstream says absent; at (commission_node|wait_for_ready) it should be/,
    );
    expect(await statusOf(server, machine.id)).toMatchObject({ service: 'quarantined' });
    const { actions } = await server.admin.listOperatorActions({ operationId: machine.operationId });
    expect(actions).toMatchObject([{ action: 'mark_manual_intervention_required', actor: 'system:drift' }]);
  });

  it('while it waits for the agent is noticed at once, quarantined, and active again when all is well', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const machine = await newMachine(server);
    await site.simulator.admin.fault({ fault: 'agent_never_enrols', mac: machine.mac, times: 1 });
    const { operationId } = await onboard(server, machine.id);
    await until(
      () => server.operations.getOperation({ operationId }),
      ({ currentStep }) => currentStep === 'wait_for_agent_enrollment',
      60_000,
    );
    const systemId = await systemIdOf(machine);
    await maas.release(callFor(), systemId, RELEASE);
    const failed = await ended(server, { operationId });
    expect(failed).toMatchObject({
      status: 'failed_manual_intervention',
      error: { code: 'UNEXPECTED_MAAS_STATE', details: { step: 'wait_for_agent_enrollment' } },
    });
    await serviceIs(machine.id, 'quarantined');
    await until(
      () => maas.read(callFor(), systemId),
      (seen) => seen?.status === 'Ready',
      20_000,
    );
    await site.simulator.admin.clearFaults();
    const action = OperatorAction_Value.RERUN;
    await server.admin.actOnOperation({ operationId, action, reason: 'released by mistake' });
    expect(await ended(server, { operationId })).toMatchObject({ status: 'completed' });
    await serviceIs(machine.id, 'active');
    expect((await history(machine.id, 'service')).map((line) => line.split(' ')[0])).toEqual([
      '>enrolling',
      'enrolling>quarantined',
      'quarantined>active',
    ]);
  });
});

describe('a MAAS that is dead', () => {
  it('hurts its own machines alone, and they are not blamed for its silence', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const [theirs, ours] = await Promise.all([inService('site-b'), inService()]);
    const waiting = await newMachine(server, { provider: 'site-b' });
    mortal.simulator.freeze();
    const stuck = await onboard(server, waiting.id);
    const startedAt = performance.now();
    await Promise.all([inService(), run(server, 'ENTER_MAINTENANCE', await newFakeMachine(server))]);
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    await maas.markBroken(callFor(), await systemIdOf(ours), 'smoke');
    await serviceIs(ours.id, 'quarantined');
    const { finishedAt, currentStep } = await server.operations.getOperation({
      operationId: stuck.operationId,
    });
    expect([finishedAt, currentStep]).toEqual([undefined, 'create_or_find_in_maas']);
    mortal.simulator.thaw();
    expect(await ended(server, stuck)).toMatchObject({ status: 'completed' });
    await serviceIs(theirs.id, 'active');
    // Its agent was as unresponsive as its MAAS; there is no other reason.
    expect((await history(theirs.id, 'service')).join()).not.toContain('quarantined');
  });
});
