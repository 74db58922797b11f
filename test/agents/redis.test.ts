// @module-tag extended: src/store/agents/redis-keepalives.test.ts and keepalive-stores.test.ts have the same store, redis-format.test.ts its keys.
/** A server whose agents' presence is in Redis: what Redis shows, and what happens when it fails. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { needs } from '../parts/debian-packages.ts';
import { cloneDatabase } from '../parts/postgres.ts';
import { type Redis, startRedis } from '../parts/redis.ts';
import { startTestServer, type TestServer, type TestServerOptions } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { type Enrolled, enrol, get, keepalive, post, registration } from './calls.ts';

const redisProgram = needs('redis');

const cleanups: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function newRedis(options: Parameters<typeof startRedis>[0] = {}): Promise<Redis> {
  const redis = await startRedis(options);
  cleanups.push(() => redis.stop());
  return redis;
}

async function serverOn(redis: Redis, options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startTestServer({ pools: ['gpu'], presenceUrl: redis.url, ...options });
  cleanups.push(() => server.stop());
  return server;
}

async function statusOf(server: TestServer, { machineId }: Enrolled) {
  return (await server.machines.getMachine({ machineId })).status;
}

async function expiries(server: TestServer): Promise<number> {
  const [row] = await server.sql<{ count: number }>(
    `SELECT count(*)::int AS count FROM events WHERE kind = 'presence' AND to_state = 'expired'`,
  );
  return row?.count ?? 0;
}

const say = (server: TestServer, machine: Enrolled) =>
  post(server, 'keepalive', machine.token, keepalive(machine));

/** As an agent does it: when the server answers that it expired, it registers again. */
async function sayOrRegister(server: TestServer, machine: Enrolled): Promise<number> {
  const { status, body } = await say(server, machine);
  if (body.error_code === 'machine_not_found') {
    await post(server, 'register', machine.token, registration(machine));
    return (await say(server, machine)).status;
  }
  return status;
}

/**
 * Sends keepalives for longer than a time to live, after which the agent is not lost. Where this host was too slow to send one
 * in time, the agent is rightly lost, and it is tried again.
 */
async function expectKeptAlive(server: TestServer, machine: Enrolled, ttlMs: number): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const before = await expiries(server);
    let longestPause = 0;
    let last = performance.now();
    for (const end = last + 1.5 * ttlMs; performance.now() < end; await sleep(300)) {
      expect(await sayOrRegister(server, machine)).toBe(200);
      longestPause = Math.max(longestPause, performance.now() - last);
      last = performance.now();
    }
    if (longestPause > 0.75 * ttlMs && tries < 10) continue;
    expect(await expiries(server)).toBe(before);
    return;
  }
}

function hash(lines: readonly string[]): Record<string, string> {
  const pairs = Array.from({ length: lines.length / 2 }, (_item, n) => lines.slice(2 * n, 2 * n + 2));
  return Object.fromEntries(pairs);
}

function linesWith(server: TestServer, text: string): number {
  return server.logged.filter((line) => line.includes(text)).length;
}

describe.skipIf(redisProgram.isMissing)(redisProgram.title('presence in Redis'), () => {
  it('is under the keys that docs/agents.md prints, with times to live and without a token', async () => {
    const redis = await newRedis();
    const server = await serverOn(redis);
    const machine = await enrol(server);
    const key = `provider:machine:generic:gpu:${machine.machineId}`;
    const state = hash(redis.cli('hgetall', key));
    expect(state).toEqual({
      machine_id: machine.machineId,
      provider_name: 'generic',
      pool_name: 'gpu',
      status: 'ready',
      hostname: 'gpu-worker-1',
      cpu: '8000',
      memory: '16384',
      gpu_count: '1',
      private_ip: '192.168.1.100',
      agent_version: '0.1.0-python',
      last_keepalive: expect.stringMatching(/^\d{10}$/),
    });
    expect(Math.abs(Number(state.last_keepalive) - Date.now() / 1000)).toBeLessThan(5);
    expect(hash(redis.cli('hgetall', `${key}:metrics`))).toEqual({
      cpu_utilization_pct: '15.5',
      memory_utilization_pct: '42.3',
      total_cpu_available: '8000',
      total_memory_available: '16384',
      free_gpu_count: '1',
    });
    for (const name of [key, `${key}:metrics`]) {
      const left = Number(redis.cli('ttl', name)[0]);
      expect(left).toBeGreaterThan(290);
      expect(left).toBeLessThanOrEqual(300);
    }
    expect(redis.cli('smembers', 'provider:machine:generic:gpu:machine_index')).toEqual([machine.machineId]);
    expect(redis.cli('keys', '*').toSorted()).toEqual(
      [key, `${key}:metrics`, 'provider:machine:generic:gpu:machine_index'].toSorted(),
    );
    expect(JSON.stringify(state)).not.toContain(machine.token);
  });

  it('one that sends no more keepalives expires: an event, out of service, nothing left in Redis', async () => {
    const redis = await newRedis();
    const server = await serverOn(redis, { keepaliveTtlSeconds: 2 });
    const lost = await enrol(server);
    const alive = await enrol(server);
    const beat = setInterval(() => void say(server, alive).catch(() => {}), 300);
    cleanups.push(async () => clearInterval(beat));
    const enrolledAt = Date.now();
    await until(async () => (await statusOf(server, lost))?.presence === 'expired');
    expect(Date.now() - enrolledAt).toBeLessThan(4_000);
    const status = await statusOf(server, lost);
    expect(status).toMatchObject({ presence: 'expired', service: 'offline' });
    expect(status?.conditions).toMatchObject([{ type: 'Reachable', status: false, reason: 'AgentSilent' }]);
    expect(await expiries(server)).toBe(1);
    expect(await statusOf(server, alive)).toMatchObject({ presence: 'ready', service: 'active' });
    await until(async () => {
      const members = redis.cli('smembers', 'provider:machine:generic:gpu:machine_index');
      return members.length === 1 && members[0] === alive.machineId;
    });

    expect(await say(server, lost)).toMatchObject({
      status: 500,
      body: { error_code: 'machine_not_found' },
    });
    expect(await sayOrRegister(server, lost)).toBe(200);
    expect(await statusOf(server, lost)).toMatchObject({ presence: 'ready', service: 'active' });
  });

  it('stopped: keepalives fail, machines are still shown, no agent is lost; empty after a restart, all are back', {
    timeout: 90_000,
  }, async () => {
    const redis = await newRedis({ password: 'very-secret-word' });
    const server = await serverOn(redis, { keepaliveTtlSeconds: 2 });
    const machine = await enrol(server);
    await redis.kill();
    const failed = await say(server, machine);
    expect(failed).toMatchObject({ status: 500, body: { error_code: 'keepalive_failed' } });
    expect(await post(server, 'register', machine.token, registration(machine))).toMatchObject({
      status: 500,
      body: { message: 'Failed to register machine' },
    });
    // Longer than its time to live; its keepalives could not have been received.
    await sleep(3_000);
    expect(await statusOf(server, machine)).toMatchObject({ presence: 'registered', service: 'active' });
    expect((await server.admin.listPools({})).pools).toHaveLength(1);
    expect(await expiries(server)).toBe(0);

    await redis.restart();
    await until(async () => (await sayOrRegister(server, machine)) === 200);
    await expectKeptAlive(server, machine, 2_000);
    expect(await statusOf(server, machine)).toMatchObject({ presence: 'ready', service: 'active' });
    expect(linesWith(server, 'Redis is away')).toBe(1);
    expect(linesWith(server, 'Redis is back')).toBe(1);
    expect(linesWith(server, 'no agent is declared lost')).toBe(1);
    expect(linesWith(server, 'unexpected error')).toBe(0);
    expect(server.logged.join('')).not.toContain('very-secret-word');
  });

  it('away before it was ever reached: agents have time to send a keepalive when it is back', {
    tags: ['extended'],
  }, async () => {
    const redis = await newRedis();
    await redis.kill();
    const server = await serverOn(redis, { keepaliveTtlSeconds: 2 });
    await until(async () => linesWith(server, 'Redis is away') === 1);
    await redis.restart();
    await until(async () => linesWith(server, 'no agent is declared lost') === 1, Boolean, 10_000);
  });

  it('a restart that shows only in the run_id gives every agent time to send a keepalive again', {
    tags: ['extended'],
  }, async () => {
    const redis = await newRedis();
    const server = await serverOn(redis, { keepaliveTtlSeconds: 3 });
    const machine = await enrol(server);
    await sleep(2_000);
    await redis.restart();
    const restartedAt = Date.now();
    await until(async () => (await expiries(server)) === 1);
    // Its own time would have been over long before.
    expect(Date.now() - restartedAt).toBeGreaterThan(2_500);
    expect(linesWith(server, 'no agent is declared lost')).toBe(1);
    expect(await statusOf(server, machine)).toMatchObject({ presence: 'expired' });
  });

  it('frozen: calls fail within seconds, the next ones at once, and all is well when it thaws', {
    tags: ['extended'],
  }, async () => {
    const redis = await newRedis();
    const server = await serverOn(redis);
    const machine = await enrol(server);
    redis.freeze();
    const frozenAt = Date.now();
    const first = await Promise.all([say(server, machine), say(server, machine)]);
    expect(first.map(({ status }) => status)).toEqual([500, 500]);
    expect(Date.now() - frozenAt).toBeLessThan(5_000);
    const nextAt = Date.now();
    expect((await say(server, machine)).status).toBe(500);
    expect((await statusOf(server, machine))?.presence).toBe('ready');
    expect((await get(server, 'list', server.adminToken)).status).toBe(500);
    expect(Date.now() - nextAt).toBeLessThan(500);
    redis.thaw();
    await until(async () => (await say(server, machine)).status === 200, Boolean, 10_000);
    expect(await expiries(server)).toBe(0);
    expect(linesWith(server, 'Redis is away')).toBe(1);
  });

  it('emptied while it runs: agents are asked to register, and are back before they expire', {
    tags: ['extended'],
  }, async () => {
    const redis = await newRedis();
    const server = await serverOn(redis, { keepaliveTtlSeconds: 3 });
    const machine = await enrol(server);
    redis.cli('flushall');
    expect(await say(server, machine)).toMatchObject({
      status: 500,
      body: { error_code: 'machine_not_found' },
    });
    expect(await sayOrRegister(server, machine)).toBe(200);
    await sleep(2_000);
    expect((await say(server, machine)).status).toBe(200);
    await sleep(2_000);
    expect(await expiries(server)).toBe(0);
    expect(await statusOf(server, machine)).toMatchObject({ presence: 'ready', service: 'active' });
  });

  it('one that is ready there and registered here is found and made ready', {
    tags: ['extended'],
  }, async () => {
    const redis = await newRedis();
    const server = await serverOn(redis, { keepaliveTtlSeconds: 2 });
    const machine = await enrol(server);
    await post(server, 'register', machine.token, registration(machine));
    // As if the registration had been stored before an older keepalive's last write.
    redis.cli('hset', `provider:machine:generic:gpu:${machine.machineId}`, 'status', 'ready');
    const beat = setInterval(() => void say(server, machine).catch(() => {}), 200);
    cleanups.push(async () => clearInterval(beat));
    expect((await statusOf(server, machine))?.presence).toBe('registered');
    await until(async () => (await statusOf(server, machine))?.presence === 'ready');
    expect(await expiries(server)).toBe(0);
  });

  it('two replicas: an agent may call either, and expires once', { tags: ['extended'] }, async () => {
    const redis = await newRedis();
    const database = await cloneDatabase();
    cleanups.push(() => database.drop());
    const one = await serverOn(redis, { database, keepaliveTtlSeconds: 2 });
    const two = await serverOn(redis, { database, keepaliveTtlSeconds: 2 });
    const machine = await enrol(one);
    for (const replica of [two, one, two, one, two, one]) {
      expect((await say(replica, machine)).status).toBe(200);
      await sleep(500);
    }
    await until(async () => (await expiries(one)) > 0);
    await sleep(1_000);
    expect(await expiries(one)).toBe(1);
  });
});

describe.skipIf(redisProgram.isMissing)(redisProgram.title('a server whose Redis is not there'), () => {
  it('starts without it, says so, and serves agents when it is there', async () => {
    const redis = await newRedis({ password: 'very-secret-word' });
    await redis.kill();
    const server = await serverOn(redis);
    expect(linesWith(server, 'Redis is away; keepalives can not be stored')).toBe(1);
    await server.machines.registerMachine({ machine: { machineId: 'node-7' } });
    expect((await server.machines.getMachine({ machineId: 'node-7' })).machineId).toBe('node-7');
    expect((await fetch(`${server.httpUrl}/readyz`)).status).toBe(200);
    await redis.restart();
    await until(async () => linesWith(server, 'Redis is back') === 1);
    const machine = await enrol(server);
    expect(await statusOf(server, machine)).toMatchObject({ presence: 'ready' });
    expect(server.logged.join('')).not.toContain('very-secret-word');
  });

  it('does not wait for one that accepts and says nothing', { tags: ['extended'] }, async () => {
    const redis = await newRedis();
    redis.freeze();
    const server = await serverOn(redis);
    expect(linesWith(server, 'no answer within 3000 ms')).toBe(1);
    redis.thaw();
    await until(async () => linesWith(server, 'Redis is back') === 1);
    expect((await say(server, await enrol(server))).status).toBe(200);
  });

  it('does not start with a wrong password, and says which setting is wrong without its value', async () => {
    const redis = await newRedis({ password: 'right' });
    const wrong = startTestServer({ presenceUrl: redis.url.replace('right', 'very-secret-word') });
    await expect(wrong).rejects.toMatchObject({
      name: 'SettingError',
      message: expect.stringMatching(/^INGOT_PRESENCE_URL: WRONGPASS [^\n]*$/),
    });
    await expect(wrong).rejects.not.toMatchObject({ message: expect.stringContaining('very-secret-word') });
  });
});
