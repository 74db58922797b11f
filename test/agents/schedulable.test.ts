// @module-tag extended: keepalive-stores.test.ts has both stores; src/domain/machine/availability.test.ts the rules.
/** A machine that work must not be placed on is not offered, and everything that shows it says why. */
import { beforeAll, expect, it } from 'vitest';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { MachineService as MachineServiceV1 } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import { refusal, type TestServer } from '../parts/server.ts';
import { describeInBothStores } from './both-stores.ts';
import { createMachine, type Enrolled, enrol, get, keepalive, post, registration } from './calls.ts';

interface Listed {
  readonly state: Readonly<Record<string, unknown>>;
}

describeInBothStores('with keepalives', (store) => {
  let server: TestServer;
  let requests = 0;
  beforeAll(async () => {
    server = await store.startServer({ pools: ['gpu', 'empty'] });
  });

  const requestId = () => {
    requests += 1;
    return `r-${requests}`;
  };
  const newPool = async (name: string) => (await server.admin.createPool({ name })).name;

  async function ended(operation: { operationId: string }): Promise<void> {
    const { operationId } = operation;
    await expect
      .poll(async () => (await server.operations.getOperation({ operationId })).finishedAt, {
        timeout: 20_000,
      })
      .toBeDefined();
  }

  async function list(query: string): Promise<Listed[]> {
    const { status, body } = await get(server, `list?${query}`, server.adminToken);
    expect(status).toBe(200);
    return body as unknown as Listed[];
  }

  const ways: Array<[string, string, (machine: Enrolled) => Promise<unknown>]> = [
    [
      'in maintenance',
      'maintenance',
      async ({ machineId }) =>
        ended(await server.machines.enterMaintenance({ machineId, requestId: requestId() })),
    ],
    [
      'drained',
      'retired',
      async (machine) => {
        const metrics = { worker_count: 0, container_count: 0 };
        await post(server, 'keepalive', machine.token, keepalive(machine, { pool_name: 'drained', metrics }));
        const { machineId } = machine;
        await ended(await server.admin.drainMachine({ machineId, requestId: requestId() }));
      },
    ],
    [
      'draining',
      'draining',
      async (machine) => {
        const metrics = { worker_count: 1 };
        await post(
          server,
          'keepalive',
          machine.token,
          keepalive(machine, { pool_name: 'draining', metrics }),
        );
        await server.admin.drainMachine({ machineId: machine.machineId, requestId: requestId() });
      },
    ],
    [
      'quarantined',
      'quarantined',
      ({ machineId }) =>
        server.sql(`UPDATE machines SET service = 'quarantined' WHERE machine_id = $1`, [machineId]),
    ],
    [
      // Its token is revoked on the way there; what is left of an agent must not be offered.
      'removing',
      'removing',
      ({ machineId }) =>
        server.sql(`UPDATE machines SET service = 'removing' WHERE machine_id = $1`, [machineId]),
    ],
    [
      'flagged RMA',
      'flagged_rma',
      ({ machineId }) =>
        server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'disk 3' }),
    ],
    [
      'flagged Retired',
      'flagged_retired',
      ({ machineId }) =>
        server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RETIRED, reason: 'old' }),
    ],
  ];

  it.each(ways)('one that is %s', async (name, reason, takeOut) => {
    const pool = await newPool(name.replaceAll(' ', '-'));
    const [out, stays] = [await enrol(server, pool), await enrol(server, pool)];
    expect((await server.admin.getPool({ name: pool })).schedulable).toBe(2);
    await takeOut(out);

    // Its agent goes on, and the status of docs/agents.md says so.
    const kept = await post(server, 'keepalive', out.token, keepalive(out, { pool_name: pool }));
    expect(kept.body.machine_state).toMatchObject({ status: 'ready' });

    const byId = new Map((await list(`pool_name=${pool}`)).map(({ state }) => [state.machine_id, state]));
    expect(byId.get(out.machineId)).toMatchObject({
      status: 'ready',
      schedulable: false,
      unschedulable_reason: reason,
      unschedulable_message: expect.stringMatching(/^it is /),
    });
    expect(byId.get(stays.machineId)).toMatchObject({ schedulable: true, unschedulable_reason: '' });
    const ids = async (query: string) => (await list(query)).map(({ state }) => state.machine_id);
    expect(await ids(`pool_name=${pool}&schedulable=true`)).toEqual([stays.machineId]);
    expect(await ids(`pool_name=${pool}&schedulable=false`)).toEqual([out.machineId]);

    expect(await server.admin.getPool({ name: pool })).toMatchObject({
      healthy: true,
      schedulable: 1,
      total: 2,
      unschedulable: { [reason]: 1 },
      machines: { ready: 2 },
      capacity: { cpuMillicores: 8000n, memoryBytes: 17_179_869_184n, gpuCount: 1 },
      totalCapacity: { cpuMillicores: 16_000n, gpuCount: 2 },
      metrics: { total_cpu_available: 8000, free_gpu_count: 1 },
      gpus: [{ model: 'unknown', schedulable: 1, total: 2 }],
    });

    const status = { schedulable: false, unschedulableReason: reason };
    const { machineId } = out;
    expect((await server.machines.getMachine({ machineId })).status).toMatchObject(status);
    const v1 = server.client(MachineServiceV1, server.adminToken);
    expect((await v1.getMachine({ machineId })).status).toMatchObject(status);
    const found = async (filter: string) =>
      (await server.machines.listMachines({ filter: `pool = "${pool}" AND ${filter}` })).machines.map(
        (machine) => machine.machineId,
      );
    expect(await found('schedulable=true')).toEqual([stays.machineId]);
    expect(await found('schedulable=false')).toEqual([machineId]);
    expect(await found(`unschedulable_reason=${reason}`)).toEqual([machineId]);
  });

  it('one with an operation under way, whatever its type; and it is back when that ends', async () => {
    const pool = await newPool('working');
    const machineId = `working-${store.name.toLowerCase()}`;
    await server.machines.registerMachine({
      machine: { machineId, labels: { 'fake/hang-step': 'reboot' }, spec: { provider: 'fake' } },
    });
    await server.sql(`UPDATE machines SET phase = 'READY' WHERE machine_id = $1`, [machineId]);
    const machine = await createMachine(server, pool, machineId);
    const fake = { pool_name: pool, provider_name: 'fake' };
    expect((await post(server, 'register', machine.token, registration(machine, fake))).status).toBe(200);
    expect((await post(server, 'keepalive', machine.token, keepalive(machine, fake))).status).toBe(200);
    const said = async () => {
      const [entry] = await list(`pool_name=${pool}&provider_name=fake`);
      const { schedulable, unschedulable } = await server.admin.getPool({ name: pool });
      return {
        listed: entry?.state.schedulable,
        reason: entry?.state.unschedulable_reason,
        schedulable,
        unschedulable,
      };
    };
    const free = { listed: true, reason: '', schedulable: 1, unschedulable: {} };
    expect(await said()).toEqual(free);
    const operation = await server.machines.rebootMachine({ machineId, requestId: requestId() });
    expect(await said()).toEqual({
      ...{ listed: false, reason: 'operation', schedulable: 0 },
      unschedulable: { operation: 1 },
    });
    await server.machines.cancelOperation({ operationId: operation.operationId });
    await ended(operation);
    expect(await said()).toEqual(free);
  });

  it('a decommission takes it out of the list at once, and out of Redis, and its agent is refused permanently', async () => {
    const pool = await newPool('leaving');
    const machine = await enrol(server, pool);
    const metrics = { worker_count: 0, container_count: 0 };
    const sendKeepalive = () =>
      post(server, 'keepalive', machine.token, keepalive(machine, { pool_name: pool, metrics }));
    await sendKeepalive();
    const { machineId } = machine;
    await ended(await server.admin.drainMachine({ machineId, requestId: requestId() }));
    expect(store.redisKeys(`*${pool}*`)).toHaveLength(store.name === 'Redis' ? 3 : 0);
    await ended(await server.admin.removeMachine({ machineId, requestId: requestId() }));
    expect(store.redisKeys(`*${pool}*`)).toEqual([]);
    expect(await list(`pool_name=${pool}`)).toEqual([]);
    expect(await server.admin.getPool({ name: pool })).toMatchObject({
      total: 0,
      schedulable: 0,
      machines: {},
    });
    expect(await sendKeepalive()).toMatchObject({
      status: 403,
      body: { error_code: 'invalid_token', revoked: true },
    });
    expect(store.redisKeys(`*${pool}*`)).toEqual([]);
  });

  it('a pool with nothing to offer is degraded, whatever its agents say, and the log says both', async () => {
    const pool = await newPool('alone');
    const { machineId } = await enrol(server, pool);
    const said = (text: string) =>
      server.logged
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .some(({ msg, pool_name: name }) => msg === text && name === pool);
    const logged = (text: string) => expect.poll(() => said(text), { timeout: 20_000 }).toBe(true);
    await logged('pool is healthy, resuming pool sizing');
    await server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'fan' });
    expect(await server.admin.getPool({ name: pool })).toMatchObject({
      healthy: false,
      machines: { ready: 1 },
      metrics: {},
    });
    await logged('pool is degraded: no machine is schedulable');
  });

  it('the fleet’s overview and facets count what is schedulable', { tags: ['extended'] }, async () => {
    const fleet = server.client(FleetService, server.adminToken);
    const before = (await fleet.getOverview({})).machinesSchedulable;
    const { machineId } = await enrol(server);
    expect((await fleet.getOverview({})).machinesSchedulable).toBe(before + 1);
    await server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'fan' });
    const overview = await fleet.getOverview({});
    expect(overview.machinesSchedulable).toBe(before);
    expect(overview.facets.map(({ field }) => field)).not.toContain('schedulable');
    const { facets } = await fleet.countMachines({
      filter: `machine_id = "${machineId}"`,
      facets: ['schedulable', 'unschedulable_reason'],
    });
    expect(facets).toMatchObject([
      { field: 'schedulable', values: [{ value: 'false', machines: 1 }] },
      { field: 'unschedulable_reason', values: [{ value: 'flagged_rma', machines: 1 }] },
    ]);
  });

  it('GPUs by model: of a machine and of its pool', { tags: ['extended'] }, async () => {
    const pool = await newPool('models');
    const h100 = { model: 'NVIDIA H100 80GB HBM3', count: 8 };
    const report = async (machine: Enrolled, gpus: unknown, count: string) => {
      const body = registration(machine, { pool_name: pool, gpu_count: count, gpus });
      expect((await post(server, 'register', machine.token, body)).status).toBe(200);
      await post(server, 'keepalive', machine.token, keepalive(machine, { pool_name: pool }));
    };
    const [one, two, three] = [
      await enrol(server, pool),
      await enrol(server, pool),
      await enrol(server, pool),
    ] as const;
    await report(one, [h100], '8');
    await report(
      two,
      [
        { model: '10de:2bb1', count: 2 },
        { ...h100, count: 1 },
      ],
      '4',
    );
    // A detail that can't be kept is dropped; how many there are counts.
    await report(three, [{ model: 'bad\u0007', count: 1 }], '2');
    await server.admin.flagMachine({
      machineId: two.machineId,
      flag: MachineFlag_Value.RMA,
      reason: 'fan',
    });
    const { status } = await server.machines.getMachine({ machineId: one.machineId });
    expect(status?.agent).toMatchObject({ gpuCount: 8, gpus: [h100] });
    const gpus = [
      { model: h100.model, schedulable: 8, total: 9 },
      { model: 'unknown', schedulable: 2, total: 3 },
      { model: '10de:2bb1', schedulable: 0, total: 2 },
    ];
    expect((await server.admin.getPool({ name: pool })).gpus).toMatchObject(gpus);
    const answer = await fetch(`${server.httpUrl}/api/v1/pool/show/${pool}`, {
      headers: { authorization: `Bearer ${server.adminToken}` },
    });
    expect(await answer.json()).toMatchObject({
      pool_name: pool,
      schedulable: 2,
      total: 3,
      unschedulable: { flagged_rma: 1 },
      capacity: { gpu_count: 10 },
      total_capacity: { gpu_count: 14 },
      gpus,
    });
    const [entry] = await list(`pool_name=${pool}&schedulable=false`);
    expect(entry?.state.gpus).toEqual([
      { model: '10de:2bb1', count: 2 },
      { ...h100, count: 1 },
    ]);
  });

  it('what is wrong is refused: a value that is neither, a pool that is not there, a caller without a token', async () => {
    expect(await get(server, 'list?schedulable=maybe', server.adminToken)).toMatchObject({
      status: 400,
      body: { detail: 'schedulable: must be true or false' },
    });
    expect(await refusal(server.admin.getPool({ name: 'nowhere' }))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'POOL_NOT_FOUND',
    });
    expect((await refusal(server.admin.getPool({ name: '' }))).code).toBe('INVALID_ARGUMENT');
    const rest = (path: string, token = server.adminToken) =>
      fetch(`${server.httpUrl}/api/v1/pool/${path}`, { headers: { authorization: `Bearer ${token}` } });
    expect((await rest('show/nowhere')).status).toBe(404);
    expect((await rest('list', 'nobody')).status).toBe(401);
    const pools = (await (await rest('list')).json()) as Array<{ pool_name: string }>;
    expect(pools.map((pool) => pool.pool_name)).toContain('empty');
  });
});
