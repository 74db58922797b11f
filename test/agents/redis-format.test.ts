// @module-tag extended: keepalive-stores.test.ts has the same store; this reads its keys.
/**
 * The data in Redis and in the log as another program reads them, with the key names and lines that docs/agents.md
 * prints.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../parts/debian-packages.ts';
import { type Redis, startRedis } from '../parts/redis.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { createMachine, type Enrolled, enrol, keepalive, post, registration } from './calls.ts';

const redisProgram = needs('redis');

const KEYS = {
  state: 'provider:machine:{provider}:{pool}:{id}',
  metrics: 'provider:machine:{provider}:{pool}:{id}:metrics',
  lock: 'provider:machine:{provider}:{pool}:{id}:lock',
  index: 'provider:machine:{provider}:{pool}:machine_index',
} as const;

const LOG_LINES = {
  registration: 'INF request method=POST path=/api/v1/machine/register status=200',
  pool: 'INF pool is healthy, resuming pool sizing pool_name=gpu',
  machine: 'INF using existing machine hostname=my-gpu-worker.beta9.headscale.internal machine_id=1165a9b6',
} as const;

describe.skipIf(redisProgram.isMissing)(redisProgram.title('docs/agents.md in Redis'), () => {
  let redis: Redis;
  let server: TestServer;

  beforeAll(async () => {
    redis = await startRedis();
    server = await startTestServer({ pools: ['gpu', 'cpu'], presenceUrl: redis.url });
  });
  afterAll(async () => {
    await server?.stop();
    await redis?.stop();
  });

  const key = (name: keyof typeof KEYS, { machineId }: Pick<Enrolled, 'machineId'>, pool = 'gpu'): string =>
    KEYS[name].replace('{provider}', 'generic').replace('{pool}', pool).replace('{id}', machineId);
  const cli = (...args: string[]) => redis.cli(...args);
  const hash = (name: string) => {
    const lines = cli('hgetall', name);
    return Object.fromEntries(
      Array.from({ length: lines.length / 2 }, (_item, n) => [lines[2 * n] ?? '', lines[2 * n + 1] ?? '']),
    );
  };
  const keysOf = ({ machineId }: Enrolled) =>
    cli('keys', '*')
      .filter((name) => name.includes(machineId))
      .toSorted();
  const isMember = (machine: Enrolled, pool = 'gpu') =>
    cli('sismember', key('index', machine, pool), machine.machineId)[0] === '1';

  async function ended({ operationId }: { operationId: string }): Promise<string> {
    await until(async () => (await server.operations.getOperation({ operationId })).finishedAt !== undefined);
    return (await server.operations.getOperation({ operationId })).status;
  }

  it('the states, their times to live, the types of the keys and the index are the printed ones', async () => {
    const machine = await createMachine(server);
    const { state, metrics, index } = {
      state: key('state', machine),
      metrics: key('metrics', machine),
      index: key('index', machine),
    };
    const ttl = () => Number(cli('ttl', state)[0]);

    // "TTL: 1 hour (MachinePendingExpirationS = 3600)"
    expect(hash(state)).toMatchObject({
      machine_id: machine.machineId,
      status: 'pending',
      pool_name: 'gpu',
    });
    expect(ttl()).toBeGreaterThan(3_590);
    expect(ttl()).toBeLessThanOrEqual(3_600);
    expect(isMember(machine)).toBe(true);

    // "TTL: 5 minutes (MachineKeepaliveExpirationS = 300)"
    const body = registration(machine, { memory: '0Gi' });
    expect((await post(server, 'register', machine.token, body)).status).toBe(200);
    expect(hash(state)).toMatchObject({
      status: 'registered',
      hostname: 'gpu-worker-1',
      cpu: '8000',
      memory: '0',
      gpu_count: '1',
      private_ip: '192.168.1.100',
    });
    expect(ttl()).toBeGreaterThan(290);
    expect(ttl()).toBeLessThanOrEqual(300);

    // "TTL: 5 minutes (refreshed with each keepalive)"
    expect((await post(server, 'keepalive', machine.token, keepalive(machine))).status).toBe(200);
    cli('expire', state, '100');
    cli('expire', metrics, '100');
    const answer = await post(server, 'keepalive', machine.token, keepalive(machine));
    expect(ttl()).toBeGreaterThan(290);
    expect(Number(cli('ttl', metrics)[0])).toBeGreaterThan(290);
    expect(hash(state)).toMatchObject({
      status: 'ready',
      last_keepalive: answer.body.machine_state?.last_keepalive,
      agent_version: '0.1.0-python',
    });
    expect(hash(metrics)).toEqual({
      cpu_utilization_pct: '15.5',
      memory_utilization_pct: '42.3',
      total_cpu_available: '8000',
      total_memory_available: '16384',
      free_gpu_count: '1',
    });
    expect([state, metrics, index].map((name) => cli('type', name)[0])).toEqual(['hash', 'hash', 'set']);
    expect(cli('ttl', index)).toEqual(['-1']);
    expect(keysOf(machine)).toEqual([state, metrics]);
  });

  it('a status is changed under the printed lock, and the lock is released', async () => {
    const machine = await enrol(server);
    cli('set', key('lock', machine), 'a third party', 'px', '600');
    const startedAt = Date.now();
    expect((await post(server, 'register', machine.token, registration(machine))).status).toBe(200);
    expect(Date.now() - startedAt).toBeGreaterThan(300);
    expect(cli('exists', key('lock', machine))).toEqual(['0']);
  });

  it('a machine that is drained and removed leaves nothing at once; its token is revoked permanently', async () => {
    const [machine, stays] = [await enrol(server), await enrol(server)];
    const { machineId } = machine;
    expect(keysOf(machine)).toHaveLength(2);
    await ended(await server.admin.drainMachine({ machineId, requestId: 'drain' }));
    expect(await ended(await server.admin.removeMachine({ machineId, requestId: 'remove' }))).toBe(
      'completed',
    );
    expect(keysOf(machine)).toEqual([]);
    expect(isMember(machine)).toBe(false);
    expect(keysOf(stays)).toHaveLength(2);
    expect(isMember(stays)).toBe(true);
    for (const call of ['register', 'keepalive'] as const) {
      const body = call === 'register' ? registration(machine) : keepalive(machine);
      expect(await post(server, call, machine.token, body)).toMatchObject({
        status: 403,
        body: { message: 'Invalid token', error_code: 'invalid_token', revoked: true },
      });
    }
    expect((await post(server, 'keepalive', 'unheard-of', keepalive(machine))).body).toEqual({
      message: 'Invalid token',
      error_code: 'invalid_token',
    });
    expect(keysOf(machine)).toEqual([]);
  });

  it('what a crash or an outage of Redis left of a removed machine is removed by the next reader', async () => {
    const machine = await enrol(server);
    const { machineId } = machine;
    // As after a crash between the commit and Redis: the token is revoked, the entry is still there.
    await server.sql(
      `INSERT INTO revoked_agents (token_hash, machine_id, pool, provider)
       SELECT token_hash, machine_id, pool, provider FROM agents JOIN agent_presence USING (machine_id)
       WHERE machine_id = $1`,
      [machineId],
    );
    await server.sql('DELETE FROM agent_presence WHERE machine_id = $1', [machineId]);
    await server.sql('DELETE FROM agents WHERE machine_id = $1', [machineId]);
    await until(() => keysOf(machine).length === 0 && !isMember(machine));
  });

  it('a registration that was on its way when its machine was removed does not bring the entry back', async () => {
    const machine = await enrol(server);
    // The lock holds the registration up between its commit and Redis.
    cli('set', key('lock', machine), 'another', 'px', '900');
    const late = post(server, 'register', machine.token, registration(machine));
    await until(
      async () =>
        (await server.machines.getMachine({ machineId: machine.machineId })).status?.presence ===
        'registered',
    );
    await server.sql('DELETE FROM agent_presence WHERE machine_id = $1', [machine.machineId]);
    await server.sql('DELETE FROM agents WHERE machine_id = $1', [machine.machineId]);
    cli('del', key('state', machine), key('metrics', machine));
    cli('srem', key('index', machine), machine.machineId);
    await late;
    expect(keysOf(machine)).toEqual([]);
    expect(isMember(machine)).toBe(false);
  });

  it('a machine that moves to another pool is in one index', async () => {
    const machine = await enrol(server);
    await createMachine(server, 'cpu', machine.machineId);
    expect(isMember(machine)).toBe(false);
    expect(cli('exists', key('state', machine), key('metrics', machine))).toEqual(['0']);
  });

  it('the log has the printed lines', async () => {
    const machine = await createMachine(server);
    const words = /^INF (?<msg>.*?) (?<fields>\w+=.*)$/;
    const parse = (line: string) => {
      const { msg = '', fields = '' } = words.exec(line)?.groups ?? {};
      const pairs = fields.split(' ').map((pair) => pair.split('=') as [string, string]);
      return { msg, fields: Object.fromEntries(pairs) as Record<string, string> };
    };
    const hostname = parse(LOG_LINES.machine).fields.hostname ?? '';
    await post(server, 'register', machine.token, registration(machine, { hostname }));
    await post(server, 'keepalive', machine.token, keepalive(machine));
    for (const line of Object.values(LOG_LINES)) {
      const { msg, fields } = parse(line);
      const wanted = Object.entries(fields).map(([name, value]) => [
        name,
        value === '1165a9b6' ? machine.machineId : value,
      ]);
      await until(() =>
        server.logged.some((text) => {
          const said = JSON.parse(text) as Record<string, unknown>;
          const isIt = said.msg === msg && said.level === 30;
          return isIt && wanted.every(([name, value]) => String(said[name ?? '']) === value);
        }),
      );
    }
  });
});
