// @module-tag extended: test/agents/keepalive-stores.test.ts has both stores.
/** What only Redis can do wrong; what every store promises is in test/agents/keepalive-store-contract.ts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { needs } from '../../../test/parts/debian-packages.ts';
import { type Redis, startRedis } from '../../../test/parts/redis.ts';
import { type KeepaliveStore, KeepalivesAway, type LiveEntry } from './keepalive-store.ts';
import { createRedisKeepalives } from './redis-keepalives.ts';

const redisProgram = needs('redis');
const TTLS = { keepaliveSeconds: 1, pendingSeconds: 1 };
const PREFIX = 'provider:machine:generic:gpu:';
const INDEX = `${PREFIX}machine_index`;
const FACTS = {
  hostname: 'gpu-worker-1',
  cpuMillicores: 8000,
  memoryBytes: 16 * 2 ** 30,
  gpuCount: 1,
  privateIp: '192.168.1.100',
  gpus: [],
};
const allMachines = async () => ({ has: () => true });

let redis: Redis;
const reports: string[] = [];

function open(keepaliveSeconds: number): Promise<KeepaliveStore> {
  return createRedisKeepalives({
    url: redis.url,
    ttls: { ...TTLS, keepaliveSeconds },
    providers: () => ['generic'],
    now: Date.now,
    monotonicNow: () => performance.now(),
    onAway: (problem) => reports.push(`away: ${problem}`),
    onBack: () => reports.push('back'),
  });
}

const address = (machineId: string) => ({ machineId, poolName: 'gpu', providerName: 'generic' });
const said = (machineId: string) => ({
  ...address(machineId),
  agentVersion: '0.1.0',
  metrics: { worker_count: 1 },
});
const ready = (machineId: string): LiveEntry => ({
  ...address(machineId),
  status: 'ready',
  facts: FACTS,
  keepalive: said(machineId),
});

describe.skipIf(redisProgram.isMissing)(redisProgram.title('keepalives in Redis'), () => {
  let store: KeepaliveStore;
  const outcomes = async (...ids: string[]) => (await store.keep(ids.map(said))).map((one) => one.outcome);

  beforeAll(async () => {
    redis = await startRedis();
    store = await open(300);
  });
  afterAll(async () => {
    await store?.close();
    await redis?.stop();
  });
  beforeEach(() => {
    redis.cli('flushall');
    reports.length = 0;
  });

  it('a keepalive leaves nothing behind of an entry that Redis has let go', async () => {
    const brief = await open(1);
    await brief.put([ready('a')]);
    await sleep(1_200);
    expect(await brief.keep([said('a')])).toEqual([{ outcome: 'gone' }]);
    expect(redis.cli('keys', '*')).toEqual([INDEX]);
    expect((await brief.poolMetrics(['gpu'], allMachines, null)).get('gpu')).toEqual({});
    // A set without members is none.
    expect(redis.cli('keys', '*')).toEqual([]);
    await brief.close();
  });

  it('finds members of the index that another client added as whole keys, and counts each machine once', async () => {
    await store.put([ready('a'), ready('b')]);
    redis.cli('sadd', INDEX, `${PREFIX}b`, `${PREFIX}gone`);
    expect((await store.poolMetrics(['gpu'], allMachines, null)).get('gpu')).toEqual({ worker_count: 2 });
    expect(redis.cli('smembers', INDEX)).not.toContain(`${PREFIX}gone`);
    expect(redis.cli('sismember', INDEX, 'a')).toEqual(['1']);
  });

  it('a keepalive that Redis finds after it was answered as failed changes nothing', async () => {
    await store.put([ready('a')]);
    expect(await outcomes('a')).toEqual(['kept']);
    redis.freeze();
    const late = { ...said('a'), metrics: { worker_count: 99 } };
    await expect(store.keep([late])).rejects.toThrow(KeepalivesAway);
    await sleep(1_000);
    redis.thaw();
    const next = async () => (await store.keep([{ ...said('a'), metrics: null }]))[0]?.outcome;
    await expect.poll(() => next().catch(() => 'away'), { timeout: 10_000 }).toBe('kept');
    // What lay in its sockets has been done by now.
    await sleep(300);
    expect(redis.cli('hget', `${PREFIX}a:metrics`, 'worker_count')).toEqual(['1']);
  });

  it('counts only the machines that are offered', async () => {
    await store.put([ready('a'), ready('b'), ready('c')]);
    const offered = async () => new Set(['b', 'unheard-of']);
    expect((await store.poolMetrics(['gpu'], offered, null)).get('gpu')).toEqual({ worker_count: 1 });
  });

  it('removes an entry whole, its lock and its members of the index, and nothing else', async () => {
    await store.put([ready('a'), ready('b')]);
    redis.cli('sadd', INDEX, `${PREFIX}a`);
    redis.cli('set', `${PREFIX}a:lock`, 'another-client');
    await store.remove([address('a')]);
    expect(redis.cli('keys', '*').toSorted()).toEqual([`${PREFIX}b`, `${PREFIX}b:metrics`, INDEX].toSorted());
    expect(redis.cli('smembers', INDEX)).toEqual(['b']);
  });

  it('goes through a large pool in pieces', async () => {
    const many = Array.from({ length: 3_000 }, (_item, n) => `m${n}`);
    await store.put(many.map(ready));
    for (const id of many.slice(0, 1_000)) await store.remove([address(id)]);
    redis.cli('sadd', INDEX, ...many.slice(0, 1_000));
    expect((await store.poolMetrics(['gpu'], allMachines, null)).get('gpu')).toEqual({ worker_count: 2_000 });
    expect(redis.cli('scard', INDEX)).toEqual(['2000']);
  });

  it('an entry to which another client gave another type does not fail the others, and a registration replaces it', async () => {
    await store.put([ready('a'), ready('b'), ready('c')]);
    redis.cli('set', `${PREFIX}b`, 'nonsense');
    redis.cli('del', `${PREFIX}c:metrics`);
    redis.cli('set', `${PREFIX}c:metrics`, 'nonsense');
    expect(await outcomes('a', 'b', 'c')).toEqual(['kept', 'gone', 'gone']);
    await store.put([ready('b'), ready('c')]);
    expect(await outcomes('a', 'b', 'c')).toEqual(['kept', 'kept', 'kept']);
  });

  it('knows its scripts again when Redis has forgotten them', async () => {
    await store.put([ready('a')]);
    redis.cli('script', 'flush');
    expect(await outcomes('a')).toEqual(['kept']);
  });

  it('a new registration keeps the metrics of the last keepalives', async () => {
    await store.put([ready('a')]);
    await store.put([{ ...ready('a'), status: 'registered', keepalive: null }]);
    const [vitals] = await store.read([address('a')]);
    expect(vitals).toMatchObject({ agentVersion: '0.1.0', metrics: { worker_count: 1 } });
  });

  describe('the lock of an entry', () => {
    const LOCK = `${PREFIX}a:lock`;

    it('is waited for, taken and given back', async () => {
      redis.cli('set', LOCK, 'another-client', 'px', '400');
      const startedAt = Date.now();
      const put = store.put([ready('a'), ready('b')]);
      await sleep(200);
      expect(redis.cli('exists', `${PREFIX}a`)).toEqual(['0']);
      await put;
      expect(Date.now() - startedAt).toBeGreaterThan(250);
      expect(await outcomes('a', 'b')).toEqual(['kept', 'kept']);
      expect(redis.cli('keys', '*:lock')).toEqual([]);
    });

    it('that another client holds by now is not released', async () => {
      redis.cli('set', `${PREFIX}b:lock`, 'another-client', 'px', '400');
      const put = store.put([ready('a'), ready('b')]);
      await sleep(100);
      // As if ours had ended by itself.
      redis.cli('set', LOCK, 'another-client');
      await put;
      expect(redis.cli('get', LOCK)).toEqual(['another-client']);
    });

    it('does not keep a machine out when its holder forgot it, and stays that holder’s', async () => {
      redis.cli('set', LOCK, 'another-client', 'px', '60000');
      await store.put([ready('a')]);
      expect(await outcomes('a')).toEqual(['kept']);
      expect(redis.cli('get', LOCK)).toEqual(['another-client']);
    });

    it('is no matter of keepalives', async () => {
      await store.put([ready('a')]);
      redis.cli('set', LOCK, 'another-client', 'px', '60000');
      const startedAt = Date.now();
      expect(await outcomes('a')).toEqual(['kept']);
      expect(Date.now() - startedAt).toBeLessThan(500);
    });
  });

  it('a full Redis is away for writers, reported once, and back with the first successful write', async () => {
    await store.put([ready('a')]);
    redis.cli('config', 'set', 'maxmemory', '1');
    for (let n = 0; n < 3; n += 1) await expect(store.keep([said('a')])).rejects.toThrow(KeepalivesAway);
    expect((await store.read([address('a')]))[0]?.agentVersion).toBe('0.1.0');
    expect(reports).toEqual([expect.stringMatching(/^away: OOM /)]);
    redis.cli('config', 'set', 'maxmemory', '0');
    expect(await outcomes('a')).toEqual(['kept']);
    expect(reports).toEqual([expect.anything(), 'back']);
  });

  it('another process is another incarnation', async () => {
    const before = await store.incarnation();
    await redis.kill();
    await expect(store.incarnation()).rejects.toThrow(KeepalivesAway);
    await redis.restart();
    let after: string | null = null;
    while (after === null) after = await store.incarnation().catch(() => sleep(20, null));
    expect(after).not.toBe(before);
    expect(reports).toEqual([expect.stringMatching(/^away: /), 'back']);
  });

  it('can be closed while Redis is away', async () => {
    const other = await open(300);
    await redis.kill();
    await other.close();
    await expect(other.incarnation()).rejects.toThrow(KeepalivesAway);
    await redis.restart();
  });
});
