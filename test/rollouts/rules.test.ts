// @module-tag extended: run.test.ts has waves and gates, stops.test.ts when it stops.
/** Stop rules that observe agents and machines, gates that the configuration asks for, and limits in percent. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import {
  type Rollout,
  Rollout_State,
  RolloutEvent_Kind,
  RolloutService,
  type RolloutSpecSchema,
  Wave_State,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { approvalsConfiguration } from '../../src/server/settings/approval-configuration.ts';
import { enrol, keepalive, post } from '../agents/calls.ts';
import { fresh } from '../api/fleet.ts';
import { type Client, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

const RULES = [{ name: 'prod', filter: 'type=REBOOT AND labels.env=prod', approver_role: 'admin' }];

let server: TestServer;
let rollouts: Client<typeof RolloutService>;
beforeAll(async () => {
  server = await startTestServer({ configuration: { approvals: approvalsConfiguration.parse(RULES) } });
  rollouts = server.client(RolloutService, server.adminToken);
});
afterAll(() => server?.stop());

type Spec = MessageInitShape<typeof RolloutSpecSchema>;
const REBOOT = { step: { case: 'reboot', value: {} } } as const;

const create = (spec: Spec, as = rollouts) =>
  as.createRollout({ spec: { steps: [REBOOT], ...spec }, requestId: fresh('create') });
const untilIs = (rolloutId: string, test: (rollout: Rollout) => boolean) =>
  until(() => rollouts.getRollout({ rolloutId }), test);
const stopped = (rolloutId: string) => untilIs(rolloutId, ({ state }) => state === Rollout_State.STOPPED);
const ended = (rolloutId: string) => untilIs(rolloutId, ({ finishedAt }) => finishedAt !== undefined);
const soaking = (rolloutId: string) => untilIs(rolloutId, ({ waitingFor }) => /soaks/.test(waitingFor));
const abort = (rolloutId: string) =>
  rollouts.abortRollout({ rolloutId, requestId: fresh('abort'), cancelRunning: true });

/** READY machines in one rack. */
async function machines(count: number, labels: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const rows = await server.sql<{ machine_id: string }>(
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT $1 || '-' || n, $2::jsonb, jsonb_build_object('provider', 'fake', 'location', jsonb_build_object('rack', $1::text)), 'READY'
     FROM generate_series(1, $3::integer) AS n RETURNING machine_id`,
    [fresh('rules'), JSON.stringify({ 'fake/step-ms': '1', ...labels }), count],
  );
  return rows.map(({ machine_id }) => machine_id).sort();
}

describe('stop rules that observe', () => {
  const flag = (machineId = '') =>
    server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'disk 3' });

  /** Two machines with an agent that reports; the rollout changes the first, and soaks. */
  async function withAgents(stop: Spec['stop']) {
    const pool = fresh('pool');
    await server.admin.createPool({ name: pool });
    // In the order of their turn.
    const agents = [await enrol(server, pool), await enrol(server, pool)].sort((one, other) =>
      one.machineId < other.machineId ? -1 : 1,
    );
    const ids = agents.map(({ machineId }) => machineId);
    await server.sql(
      `UPDATE machines SET phase = 'READY', spec = spec || '{"provider": "fake"}', labels = labels || '{"fake/step-ms": "1"}'
       WHERE machine_id = ANY($1)`,
      [ids],
    );
    const report = (index: number, metrics: Readonly<Record<string, number>>) => {
      const agent = agents[index] ?? { machineId: '', token: '' };
      return post(server, 'keepalive', agent.token, keepalive(agent, { pool_name: pool, metrics }));
    };
    const { rolloutId } = await create({ machineIds: ids, waves: ['1', 'rest'], soak: '10m', stop });
    await soaking(rolloutId);
    return { pool, ids, report, rolloutId };
  }

  test('metrics: of a machine that is done, and not of one that is not', { tags: ['extended'] }, async () => {
    const { ids, report, rolloutId } = await withAgents({
      metrics: [
        { name: 'cpu_utilization_pct', above: 90 },
        { name: 'free_gpu_count', below: 1 },
      ],
    });
    expect((await report(1, { cpu_utilization_pct: 99, free_gpu_count: 0 })).status).toBe(200);
    expect((await report(0, { cpu_utilization_pct: 90, free_gpu_count: 0 })).status).toBe(200);
    const { reason, machines: counts } = await stopped(rolloutId);
    expect(reason).toBe(`free_gpu_count of ${ids[0]} is 0, below 1 (metrics)`);
    expect(counts).toMatchObject({ succeeded: 1, pending: 1 });
    // It was bad already when it goes on; another metric that goes bad stops it again.
    await rollouts.resumeRollout({ rolloutId, requestId: fresh('resume') });
    await until(
      () =>
        server.sql("SELECT 1 FROM rollouts WHERE rollout_id = $1 AND tally ->> 'known' <> ''", [rolloutId]),
      (rows) => rows.length === 1,
    );
    await report(0, { cpu_utilization_pct: 95, free_gpu_count: 0 });
    const again = await untilIs(rolloutId, ({ reason: now }) => now.startsWith('cpu'));
    expect(again.reason).toBe(`cpu_utilization_pct of ${ids[0]} is 95, above 90 (metrics)`);
    await abort(rolloutId);
  });

  test('pool_degraded: when no machine of the pool is schedulable any more', async () => {
    const { ids, pool, rolloutId } = await withAgents({ poolDegraded: true });
    await flag(ids[0]);
    expect((await rollouts.getRollout({ rolloutId })).state).toBe(Rollout_State.RUNNING);
    await flag(ids[1]);
    const { reason, waitingFor } = await stopped(rolloutId);
    expect(reason).toBe(`no machine of pool ${pool} is schedulable (pool_degraded)`);
    expect(waitingFor).toBe(
      `It is stopped: no machine of pool ${pool} is schedulable (pool_degraded). Resume it, retry what failed, or abort it.`,
    );
    await abort(rolloutId);
  });

  test('unhealthy: a condition of a machine that is done', async () => {
    const ids = await machines(2);
    const { rolloutId } = await create({
      machineIds: ids,
      waves: ['1', 'rest'],
      soak: '10m',
      stop: { unhealthy: 'conditions.RMA=true' },
    });
    await soaking(rolloutId);
    const { machines: listed } = await rollouts.listRolloutMachines({ rolloutId, filter: 'state=SUCCEEDED' });
    const done = listed[0]?.machineId;
    await flag(ids.find((id) => id !== done));
    await flag(done);
    expect((await stopped(rolloutId)).reason).toBe(
      `${done} is done and matches conditions.RMA=true (unhealthy)`,
    );
    await abort(rolloutId);
  });
});

describe('a rule of the configuration that asks for an approval', () => {
  test('gates the wave that it applies to, and its operations do not wait again', async () => {
    const [plain = ''] = await machines(1);
    const [prod = ''] = await machines(1, { env: 'prod' });
    const person = async (role: string) => {
      const { secret } = await server.admin.createToken({ name: fresh('person'), role });
      return server.client(RolloutService, secret);
    };
    const creator = await person('admin');
    const { rolloutId } = await create({ machineIds: [plain, prod], by: 'labels.env' }, creator);
    const gated = await untilIs(rolloutId, ({ waves }) =>
      waves.some(({ state }) => state === Wave_State.WAITING_FOR_APPROVAL),
    );
    const wave = gated.waves.find(({ name }) => name === 'prod');
    expect(wave).toMatchObject({ gate: 'second-person', approvalRule: 'prod' });
    expect(gated.waves.find(({ name }) => name !== 'prod')).toMatchObject({
      gate: 'automatic',
      approvalRule: '',
    });
    const approve = async (as: Client<typeof RolloutService>) =>
      as.approveWave({ rolloutId, wave: wave?.number ?? 0, requestId: fresh('approve') });
    expect(await refusal(approve(creator))).toMatchObject({ reason: 'NOT_THE_APPROVER' });
    expect(await refusal(approve(await person('operator')))).toMatchObject({ reason: 'NOT_THE_APPROVER' });
    await approve(await person('admin'));
    expect((await ended(rolloutId)).state).toBe(Rollout_State.SUCCEEDED);
    const { operations } = await server.operations.listOperations({ filter: `rollout=${rolloutId}` });
    expect(operations).toHaveLength(2);
    // A single reboot of that machine still waits.
    const alone = await server.machines.rebootMachine({ machineId: prod, requestId: fresh('alone') });
    expect(alone.waitingFor).toBe('waiting for approval');
  });
});

describe('limits in percent', () => {
  const HANGS = { 'fake/hang-step': 'reboot' };

  test('max_parallel: rounded down, as it is shown', async () => {
    const { rolloutId } = await create({ machineIds: await machines(5, HANGS), maxParallel: '50%' });
    const full = await untilIs(rolloutId, ({ waitingFor }) => waitingFor !== '');
    expect(full.waitingFor).toBe(
      'Its limits are used up: max_parallel allows 2 at once, and 2 are under way.',
    );
    expect(full.machines).toMatchObject({ running: 2, pending: 3 });
    expect(full.limits.find(({ name }) => name === 'max_parallel')).toMatchObject({ used: 2, limit: 2 });
    await abort(rolloutId);
  });

  test('of a group: never more, and at least one; what waits says for what', async () => {
    const machineIds = await machines(5, HANGS);
    const limits = [{ groupBy: 'location.rack', maxUnavailable: '50%' }];
    const { rolloutId } = await create({ machineIds, limits });
    const full = await untilIs(
      rolloutId,
      ({ waitingFor, machines: counts }) => waitingFor !== '' && counts?.running === 2,
    );
    const rack = machineIds[0]?.replace(/-\d+$/, '');
    expect(full.waitingFor).toContain(`allows 2 unavailable in location.rack ${rack}, and 2 machines are: `);
    expect(full.machines).toMatchObject({ running: 2, pending: 3 });
    await abort(rolloutId);
  });

  test('in numbers: the sentence names the limit, the group and the machine that occupies it', async () => {
    const machineIds = await machines(2, HANGS);
    const limits = [{ groupBy: 'location.rack', maxUnavailable: '1' }];
    const { rolloutId } = await create({ machineIds, limits });
    const full = await untilIs(rolloutId, ({ waitingFor }) => waitingFor !== '');
    const { machines: running } = await rollouts.listRolloutMachines({ rolloutId, filter: 'state=RUNNING' });
    expect(full.waitingFor).toBe(
      `Its limits are used up: the limit by location.rack allows 1 unavailable, and ${machineIds[0]?.replace(/-\d+$/, '')} has ${running[0]?.machineId}.`,
    );
    await abort(rolloutId);
  });
});

describe('WatchRollout', () => {
  test('says that it is alive where nothing changes, with a cursor that goes on', {
    tags: ['extended'],
    timeout: 40_000,
  }, async () => {
    const { rolloutId } = await create({ machineIds: await machines(1), gate: 'approval' });
    await untilIs(rolloutId, ({ waves }) => waves[0]?.state === Wave_State.WAITING_FOR_APPROVAL);
    let cursor = '';
    for await (const event of rollouts.watchRollout({ rolloutId })) {
      if (event.kind !== RolloutEvent_Kind.ALIVE) continue;
      expect(event).toMatchObject({ machines: [], moreMachines: false, at: expect.anything() });
      expect(event.rollout).toBeUndefined();
      cursor = event.cursor;
      break;
    }
    await abort(rolloutId);
    await ended(rolloutId);
    const kinds: RolloutEvent_Kind[] = [];
    for await (const event of rollouts.watchRollout({ rolloutId, cursor })) kinds.push(event.kind);
    expect(kinds).toEqual([RolloutEvent_Kind.CHANGE]);
  });

  test('names no machine where too many have changed, and says so', { tags: ['extended'] }, async () => {
    const { rolloutId } = await create({ machineIds: await machines(501), gate: 'approval' });
    await untilIs(rolloutId, ({ waves }) => waves[0]?.state === Wave_State.WAITING_FOR_APPROVAL);
    const changes: { machines: number; more: boolean }[] = [];
    let isFirst = true;
    for await (const event of rollouts.watchRollout({ rolloutId })) {
      if (isFirst) await abort(rolloutId);
      isFirst = false;
      if (event.kind === RolloutEvent_Kind.CHANGE)
        changes.push({ machines: event.machines.length, more: event.moreMachines });
    }
    // The abort itself may be a change of its own, before its machines.
    expect(changes).toContainEqual({ machines: 0, more: true });
    expect(changes.filter(({ machines: named }) => named > 0)).toEqual([]);
    const { machines: counts } = await rollouts.getRollout({ rolloutId });
    expect(counts).toMatchObject({ canceled: 501 });
  });
});
