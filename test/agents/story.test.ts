/** The complete example of docs/agents.md, from the agent's and the operator's side. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../parts/server.ts';
import { describeInBothStores } from './both-stores.ts';
import { createMachine, enrol, get, keepalive, post, registration } from './calls.ts';

describeInBothStores('presence', (store) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await store.startServer({ pools: ['gpu', 'empty'] });
  });

  async function statusOf(machineId: string) {
    const { status } = await server.machines.getMachine({ machineId });
    if (!status) throw new Error('a machine has a status');
    return status;
  }

  describe('from create to ready', () => {
    it('answers exactly as docs/agents.md prints it, and each step is in the machine’s history', async () => {
      const machine = await createMachine(server);
      expect(machine.machineId).toMatch(/^[0-9a-f]{8}$/);
      expect(await statusOf(machine.machineId)).toMatchObject({
        presence: 'pending',
        service: 'bootstrap_issued',
        pool: 'gpu',
      });

      const registered = await post(server, 'register', machine.token, registration(machine));
      expect(registered).toMatchObject({ status: 200 });
      expect(registered.body).toEqual({
        config: null,
        machine_state: {
          machine_id: machine.machineId,
          status: 'registered',
          pool_name: 'gpu',
          ttl_seconds: 300,
        },
      });
      expect(await statusOf(machine.machineId)).toMatchObject({
        presence: 'registered',
        service: 'enrolling',
      });

      const before = Math.floor(Date.now() / 1000);
      const kept = await post(server, 'keepalive', machine.token, keepalive(machine));
      expect(kept.status).toBe(200);
      expect(kept.body).toEqual({
        status: 'ok',
        machine_state: {
          machine_id: machine.machineId,
          status: 'ready',
          last_keepalive: expect.stringMatching(/^\d+$/),
          ttl_seconds: 300,
          agent_version: '0.1.0-python',
        },
      });
      expect(Number(kept.body.machine_state?.last_keepalive)).toBeGreaterThanOrEqual(before);

      const status = await statusOf(machine.machineId);
      expect(status).toMatchObject({ presence: 'ready', service: 'active' });
      expect(status.conditions).toMatchObject([{ type: 'Reachable', status: true, reason: 'AgentReady' }]);
      expect(status.agent).toMatchObject({
        hostname: 'gpu-worker-1',
        cpuMillicores: 8000n,
        memoryBytes: 17_179_869_184n,
        gpuCount: 1,
        privateIp: '192.168.1.100',
        agentVersion: '0.1.0-python',
        metrics: { cpu_utilization_pct: 15.5, free_gpu_count: 1, total_memory_available: 16384 },
      });

      const events = await server.sql<{ kind: string; from_state: string; to_state: string; actor: string }>(
        `SELECT kind, from_state, to_state, actor_kind AS actor FROM events WHERE machine_id = $1 ORDER BY event_id`,
        [machine.machineId],
      );
      expect(
        events.map((event) => `${event.kind} ${event.from_state}>${event.to_state} ${event.actor}`),
      ).toEqual([
        'machine >registered admin',
        'service >bootstrap_issued admin',
        'presence >pending admin',
        'token >issued admin',
        'service bootstrap_issued>enrolling agent',
        'presence pending>registered agent',
        'service enrolling>active agent',
        'presence registered>ready agent',
        'condition >true agent',
      ]);
    });

    it('a keepalive inside the time to live changes only its time and what it reports', async () => {
      const machine = await enrol(server);
      const before = await server.machines.getMachine({ machineId: machine.machineId });
      const [events] = await server.sql<{ count: number }>(
        `SELECT count(*)::int AS count FROM events WHERE kind <> 'access'`,
      );
      const { body } = await post(server, 'keepalive', machine.token, {
        machine_id: machine.machineId,
        pool_name: 'gpu',
        metrics: { worker_count: 3 },
      });
      expect(body.machine_state).toMatchObject({ status: 'ready', agent_version: '0.1.0-python' });
      const after = await server.machines.getMachine({ machineId: machine.machineId });
      expect(after.updatedAt).toEqual(before.updatedAt);
      expect(after.status?.agent?.metrics).toEqual({ ...before.status?.agent?.metrics, worker_count: 3 });
      expect(await server.sql(`SELECT count(*)::int AS count FROM events WHERE kind <> 'access'`)).toEqual([
        events,
      ]);
    });

    it('a machine that registers again is registered again, and stays in service', async () => {
      const machine = await enrol(server);
      await post(server, 'register', machine.token, registration(machine, { hostname: 'renamed' }));
      expect(await statusOf(machine.machineId)).toMatchObject({
        presence: 'registered',
        service: 'active',
        agent: { hostname: 'renamed' },
      });
      await post(server, 'keepalive', machine.token, keepalive(machine));
      expect(await statusOf(machine.machineId)).toMatchObject({ presence: 'ready', service: 'active' });
    });

    it('concurrent first keepalives of one machine make it ready once', async () => {
      const machine = await createMachine(server);
      await post(server, 'register', machine.token, registration(machine));
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => post(server, 'keepalive', machine.token, keepalive(machine))),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      const [row] = await server.sql<{ count: number }>(
        `SELECT count(*)::int AS count FROM events WHERE machine_id = $1 AND kind = 'presence' AND to_state = 'ready'`,
        [machine.machineId],
      );
      expect(row?.count).toBe(1);
    });
  });

  describe('a machine that was there before', () => {
    it('gets an agent under its own id and provider', async () => {
      await server.machines.registerMachine({ machine: { machineId: 'node-7', spec: { provider: 'fake' } } });
      const machine = await createMachine(server, 'gpu', 'node-7');
      const answer = await post(
        server,
        'register',
        machine.token,
        registration(machine, { provider_name: 'fake' }),
      );
      expect(answer.status).toBe(200);
      expect(await statusOf('node-7')).toMatchObject({ presence: 'registered', pool: 'gpu' });
    });

    it('a new token revokes the old one, and the agent continues with the new one', async () => {
      const machine = await enrol(server);
      const { token } = await createMachine(server, 'gpu', machine.machineId);
      expect(await statusOf(machine.machineId)).toMatchObject({ presence: 'ready' });
      const refused = await post(server, 'keepalive', machine.token, keepalive(machine));
      expect(refused.status).toBe(403);
      const kept = await post(server, 'keepalive', token, keepalive(machine));
      expect(kept.status).toBe(200);
    });

    it('an unknown pool, provider or machine is refused with what there is', async () => {
      await expect(server.admin.createMachine({ pool: 'cpu' })).rejects.toMatchObject({
        code: 'FAILED_PRECONDITION',
        reason: 'POOL_NOT_FOUND',
        message: expect.stringContaining('there are empty, gpu'),
      });
      await expect(server.admin.createMachine({ pool: 'gpu', provider: 'none' })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      await expect(server.admin.createMachine({ pool: 'gpu', machineId: 'nobody' })).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
      await expect(
        server.admin.createMachine({ pool: 'gpu', machineId: 'node-7', provider: 'generic' }),
      ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    });
  });

  describe('pools', () => {
    it('are healthy with a ready machine and degraded without, with the sums of their metrics', async () => {
      await server.admin.createPool({ name: 'batch' });
      const machines = [await enrol(server, 'batch'), await enrol(server, 'batch')];
      await createMachine(server, 'batch');
      const [first] = machines;
      if (!first) throw new Error('there is a first machine');
      await post(server, 'keepalive', first.token, {
        machine_id: first.machineId,
        pool_name: 'batch',
        metrics: { cpu_utilization_pct: 84.5 },
      });
      const { pools } = await server.admin.listPools({});
      expect(pools.find(({ name }) => name === 'empty')).toMatchObject({ healthy: false, metrics: {} });
      expect(pools.find(({ name }) => name === 'batch')).toMatchObject({
        healthy: true,
        machines: { pending: 1, registered: 0, ready: 2, expired: 0 },
        metrics: { total_cpu_available: 16_000, free_gpu_count: 2, cpu_utilization_pct: 50 },
      });
      await expect(server.admin.createPool({ name: 'batch' })).rejects.toMatchObject({
        reason: 'POOL_EXISTS',
      });
      await expect(server.admin.createPool({ name: 'a b' })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    });
  });

  it('a pool does not count machines that were removed', async () => {
    await server.admin.createPool({ name: 'shrinking' });
    const { machineId } = await createMachine(server, 'shrinking');
    const pending = async () =>
      (await server.admin.listPools({})).pools.find(({ name }) => name === 'shrinking')?.machines.pending ??
      0;
    expect(await pending()).toBe(1);
    await server.sql(`UPDATE machines SET service = 'deleted' WHERE machine_id = $1`, [machineId]);
    expect(await pending()).toBe(0);
  });

  describe('GET /machine/list and /machine/config', () => {
    it('lists ready machines with state and metrics, by pool and provider, to operators only', async () => {
      const ready = await enrol(server, 'gpu');
      const pending = await createMachine(server);
      const { body } = await get(server, 'list?pool_name=gpu&provider_name=generic', server.adminToken);
      const listed = body as unknown as Array<{ state: Record<string, unknown>; metrics: unknown }>;
      const entry = listed.find(({ state }) => state.machine_id === ready.machineId);
      expect(entry).toMatchObject({
        state: { pool_name: 'gpu', status: 'ready', cpu: 8000, memory: 16384, gpu_count: 1 },
        metrics: { cpu_utilization_pct: 15.5 },
      });
      expect(listed.some(({ state }) => state.machine_id === pending.machineId)).toBe(false);
      expect(JSON.stringify(listed)).not.toContain(ready.token);
      expect((await get(server, 'list?pool_name=empty', server.adminToken)).body).toEqual([]);
      expect((await get(server, 'list?provider_name=fake', server.adminToken)).body).toEqual([]);
      expect((await get(server, 'list', ready.token)).status).toBe(403);
      expect((await get(server, 'list', null)).status).toBe(403);
    });

    it('the configuration is null, for machines and operators', async () => {
      const machine = await createMachine(server);
      for (const token of [machine.token, server.adminToken]) {
        expect(await get(server, 'config', token)).toMatchObject({ status: 200, body: { config: null } });
      }
      expect((await get(server, 'config', 'nonsense')).status).toBe(403);
    });
  });
});
