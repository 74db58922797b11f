// @module-tag extended: story.test.ts has an agent that is lost and comes back.
/** Missing keepalives: when they are noticed, what they change, and which agents do not expire. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../parts/postgres.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { createMachine, enrol, get, keepalive, post, registration } from './calls.ts';

const cleanups: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serverWith(options: Parameters<typeof startTestServer>[0]): Promise<TestServer> {
  const server = await startTestServer({ pools: ['gpu'], ...options });
  let stopped = false;
  const stop = server.stop;
  const once = async () => {
    if (stopped) return;
    stopped = true;
    await stop();
  };
  cleanups.push(once);
  return { ...server, stop: once };
}

async function statusOf(server: TestServer, machineId: string) {
  return (await server.machines.getMachine({ machineId })).status;
}

const isExpired = async (server: TestServer, machineId: string) =>
  (await statusOf(server, machineId))?.presence === 'expired';

describe('an agent that sends no more keepalives', () => {
  it('expires: an event, Reachable false, out of service; then it registers again and is back', async () => {
    const server = await serverWith({ keepaliveTtlSeconds: 2 });
    const machine = await enrol(server);
    const lively = await enrol(server);
    const beat = setInterval(() => void post(server, 'keepalive', lively.token, keepalive(lively)), 300);
    cleanups.push(async () => clearInterval(beat));
    await until(() => isExpired(server, machine.machineId));

    const status = await statusOf(server, machine.machineId);
    expect(status).toMatchObject({ presence: 'expired', service: 'offline' });
    expect(status?.conditions).toMatchObject([{ type: 'Reachable', status: false, reason: 'AgentSilent' }]);
    expect(await statusOf(server, lively.machineId)).toMatchObject({ presence: 'ready', service: 'active' });
    expect(status).toMatchObject({ schedulable: false, unschedulableReason: 'offline' });
    const { body } = await get(server, 'list', server.adminToken);
    expect(body).toMatchObject([{ state: { machine_id: lively.machineId, schedulable: true } }]);
    expect(await server.admin.getPool({ name: 'gpu' })).toMatchObject({
      ...{ total: 2, schedulable: 1, unschedulable: { offline: 1 } },
      capacity: { gpuCount: 1 },
      totalCapacity: { gpuCount: 2 },
    });
    const events = await server.sql<{ kind: string; late: number }>(
      `SELECT e.kind, extract(epoch FROM e.at - p.expires_at)::float8 AS late FROM events e
       JOIN agent_presence p USING (machine_id)
       WHERE machine_id = $1 AND actor_id = 'presence' ORDER BY event_id`,
      [machine.machineId],
    );
    expect(events.map(({ kind }) => kind)).toEqual(['service', 'presence', 'condition']);
    for (const { late } of events) expect(late).toBeGreaterThanOrEqual(0);

    const gone = await post(server, 'keepalive', machine.token, keepalive(machine));
    expect(gone).toMatchObject({ status: 500, body: { error_code: 'machine_not_found' } });
    expect((await post(server, 'register', machine.token, registration(machine))).status).toBe(200);
    expect((await post(server, 'keepalive', machine.token, keepalive(machine))).status).toBe(200);
    const back = await statusOf(server, machine.machineId);
    expect(back).toMatchObject({ presence: 'ready', service: 'active' });
    expect(back?.conditions).toMatchObject([{ type: 'Reachable', status: true, reason: 'AgentReady' }]);
  });

  it('a registration without a keepalive expires too', { tags: ['extended'] }, async () => {
    const server = await serverWith({ keepaliveTtlSeconds: 1 });
    const machine = await createMachine(server);
    await post(server, 'register', machine.token, registration(machine));
    await until(() => isExpired(server, machine.machineId));
    expect(await statusOf(server, machine.machineId)).toMatchObject({ service: 'enrolling' });
  });

  it('one that never registered expires after its own time limit, and its token with it', async () => {
    const server = await serverWith({ pendingTtlSeconds: 1 });
    const machine = await createMachine(server);
    await until(() => isExpired(server, machine.machineId));
    expect((await statusOf(server, machine.machineId))?.conditions).toEqual([]);
    const refused = await post(server, 'register', machine.token, registration(machine));
    expect(refused).toMatchObject({ status: 403, body: { error_code: 'invalid_token' } });
    const again = await createMachine(server, 'gpu', machine.machineId);
    expect(await statusOf(server, machine.machineId)).toMatchObject({ presence: 'pending' });
    expect((await post(server, 'register', again.token, registration(again))).status).toBe(200);
  });

  it('keepalives of half a time to live keep it alive for as long as they come', {
    tags: ['extended'],
  }, async () => {
    const server = await serverWith({ keepaliveTtlSeconds: 2 });
    const machine = await enrol(server);
    for (let n = 0; n < 6; n += 1) {
      await sleep(1_000);
      expect((await post(server, 'keepalive', machine.token, keepalive(machine))).status).toBe(200);
    }
    const [row] = await server.sql<{ count: number }>(
      `SELECT count(*)::int AS count FROM events WHERE machine_id = $1 AND kind = 'presence'`,
      [machine.machineId],
    );
    expect(row?.count).toBe(3);
  });
});

describe('after our own downtime', () => {
  it('no agent is declared lost before each had a whole time to live to send a keepalive again', async () => {
    const database = await cloneDatabase();
    cleanups.push(() => database.drop());
    const first = await serverWith({ database, keepaliveTtlSeconds: 2 });
    const lost = await enrol(first);
    const alive = await enrol(first);
    await first.stop();
    // Long expired for both, and longer than a server may miss keepalives without noticing it.
    await sleep(6_000);
    const second = await serverWith({ database, keepaliveTtlSeconds: 2 });
    const startedAt = Date.now();
    expect(await statusOf(second, lost.machineId)).toMatchObject({ presence: 'ready', service: 'active' });
    await sleep(500);
    expect((await post(second, 'keepalive', alive.token, keepalive(alive))).status).toBe(200);
    const beat = setInterval(() => void post(second, 'keepalive', alive.token, keepalive(alive)), 300);
    cleanups.push(async () => clearInterval(beat));
    await until(() => isExpired(second, lost.machineId));
    expect(Date.now() - startedAt).toBeGreaterThan(1_500);
    expect(await statusOf(second, alive.machineId)).toMatchObject({ presence: 'ready' });
    expect(second.logged.join('')).toContain('no agent is declared lost');
  });

  it('a short restart is no reason for leniency', { tags: ['extended'] }, async () => {
    const database = await cloneDatabase();
    cleanups.push(() => database.drop());
    const first = await serverWith({ database, keepaliveTtlSeconds: 2 });
    const machine = await enrol(first);
    await first.stop();
    const second = await serverWith({ database, keepaliveTtlSeconds: 2 });
    await until(() => isExpired(second, machine.machineId));
    expect(second.logged.join('')).not.toContain('no agent is declared lost');
  });
});

describe('two replicas', () => {
  it('an agent may call either replica, and expires once', { tags: ['extended'] }, async () => {
    const database = await cloneDatabase();
    cleanups.push(() => database.drop());
    const replicas = [
      await serverWith({ database, keepaliveTtlSeconds: 2 }),
      await serverWith({ database, keepaliveTtlSeconds: 2 }),
    ] as const;
    const machine = await enrol(replicas[0]);
    for (let n = 0; n < 6; n += 1) {
      const replica = replicas[n % 2 === 0 ? 0 : 1];
      expect((await post(replica, 'keepalive', machine.token, keepalive(machine))).status).toBe(200);
      await sleep(500);
    }
    await until(() => isExpired(replicas[0], machine.machineId));
    const [row] = await replicas[0].sql<{ count: number }>(
      `SELECT count(*)::int AS count FROM events WHERE machine_id = $1 AND to_state = 'expired'`,
      [machine.machineId],
    );
    expect(row?.count).toBe(1);
  });
});
