/** What every store of keepalives promises, driven as the server drives it: PostgreSQL first, then the store. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Actor } from '../../src/domain/actor.ts';
import type { AgentAddress, Keepalive, Metrics, PresenceTtls } from '../../src/domain/agent/agent.ts';
import { bareMachine, machineEvent } from '../../src/operations/machines/inventory.ts';
import { createGenericProvider } from '../../src/providers/generic/generic-provider.ts';
import { expireAgents } from '../../src/store/agents/agent-watch.ts';
import { issueAgentToken, makeAgentsReady, registerAgents } from '../../src/store/agents/agents.ts';
import type { KeepaliveStore } from '../../src/store/agents/keepalive-store.ts';
import { Database, untilNotDeadlocked } from '../../src/store/database/database.ts';
import { SCHEDULABLE_COLUMN } from '../../src/store/machines/schedulable-column.ts';
import { hashToken } from '../../src/store/tokens.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';

export interface StoreUnderTest {
  /** Keepalives are not in PostgreSQL. */
  readonly elsewhere: boolean;
  open(database: Database, ttls: PresenceTtls, providers: readonly string[]): Promise<KeepaliveStore>;
}

const ACTOR: Actor = { kind: 'admin', id: 'contract' };
const PROVIDERS = ['generic', 'other'] as const;
const LONG: PresenceTtls = { keepaliveSeconds: 300, pendingSeconds: 3600 };
const SHORT: PresenceTtls = { keepaliveSeconds: 1, pendingSeconds: 1 };
const FACTS = {
  hostname: 'gpu-worker-1',
  cpuMillicores: 8000,
  memoryBytes: 16 * 2 ** 30,
  gpuCount: 1,
  privateIp: '192.168.1.100',
  gpus: [{ model: 'NVIDIA H100 80GB HBM3', count: 1 }],
};

/** The life cycle of agents, step by step. */
class Agents {
  readonly store: KeepaliveStore;
  readonly #database: Database;
  readonly #ttls: PresenceTtls;
  readonly #elsewhere: boolean;

  constructor(store: KeepaliveStore, database: Database, ttls: PresenceTtls, elsewhere: boolean) {
    this.store = store;
    this.#database = database;
    this.#ttls = ttls;
    this.#elsewhere = elsewhere;
  }

  async pending(poolName: string, providerName = 'generic', id = ''): Promise<AgentAddress> {
    const machineId = id || randomBytes(4).toString('hex');
    const providers = new Map(PROVIDERS.map((name) => [name as string, createGenericProvider(name)]));
    const issued = await issueAgentToken(this.#database, {
      machineId,
      newMachine: {
        input: bareMachine({ providers }, machineId, providerName),
        event: machineEvent(machineId, '', 'registered', ACTOR),
      },
      pool: poolName,
      tokenHash: hashToken(machineId),
      pendingSeconds: this.#ttls.pendingSeconds,
      actor: ACTOR,
      scope: null,
    });
    if (!issued) throw new Error(`${machineId} is taken`);
    const address = { machineId, poolName, providerName };
    await this.store.put([{ ...address, status: 'pending', facts: null, keepalive: null }]);
    return address;
  }

  async register(addresses: readonly AgentAddress[]): Promise<void> {
    const agents = addresses.map(({ machineId }) => ({
      machineId,
      tokenHash: hashToken(machineId),
      facts: FACTS,
      boot: null,
    }));
    await untilNotDeadlocked(() => registerAgents(this.#database, agents, this.#ttls));
    await this.store.put(
      addresses.map((address) => ({ ...address, status: 'registered', facts: FACTS, keepalive: null })),
    );
  }

  async makeReady(keepalives: readonly Keepalive[]): Promise<void> {
    const made = await untilNotDeadlocked(() => makeAgentsReady(this.#database, keepalives, this.#ttls));
    await this.store.put(
      keepalives
        .filter(({ machineId }) => made.has(machineId))
        .map((keepalive) => ({ ...keepalive, status: 'ready', facts: null, keepalive })),
    );
  }

  async ready(poolName: string, count = 1, providerName = 'generic'): Promise<AgentAddress[]> {
    const addresses: AgentAddress[] = [];
    // A few at a time: hundreds that wait for a connection would wait for longer than they may.
    while (addresses.length < count) {
      const some = Math.min(50, count - addresses.length);
      addresses.push(
        ...(await Promise.all(Array.from({ length: some }, () => this.pending(poolName, providerName)))),
      );
    }
    await this.register(addresses);
    await this.makeReady(addresses.map((address) => said(address)));
    return addresses;
  }

  poolMetrics(pools: readonly string[]): Promise<Map<string, Metrics>> {
    return this.store.poolMetrics(
      pools,
      async () => {
        const rows = await this.#database.run<{ machine_id: string }>(
          '',
          `SELECT machine_id FROM machines WHERE ${SCHEDULABLE_COLUMN}`,
        );
        return new Set(rows.map((row) => row.machine_id));
      },
      null,
    );
  }

  /** As the watch does it with those whose time is over. */
  async expire(addresses: readonly AgentAddress[]): Promise<string[]> {
    const ids = addresses.map(({ machineId }) => machineId);
    const soon = new Date(Date.now() + 60_000);
    const machines = await expireAgents(this.#database, ids, this.#elsewhere, soon);
    const expired = machines.map((m) => m.machineId);
    await this.store.remove(addresses.filter(({ machineId }) => expired.includes(machineId)));
    return expired;
  }

  async keepOne(keepalive: Keepalive) {
    const [outcome] = await this.store.keep([keepalive]);
    return outcome;
  }
}

function said(address: AgentAddress, more: Partial<Keepalive> = {}): Keepalive {
  return { ...address, agentVersion: '0.1.0', metrics: { free_gpu_count: 1 }, ...more };
}

/** Driven with short and with usual times to live. */
export function keepaliveStoreContract(storeUnderTest: StoreUnderTest): void {
  let clone: TestDatabase;
  let database: Database;
  const opened: KeepaliveStore[] = [];

  beforeAll(async () => {
    clone = await cloneDatabase();
    database = new Database({ url: clone.url, maxConnections: 8, onIdleError: () => {} });
  });
  afterAll(async () => {
    for (const store of opened) await store.close();
    await database?.close();
    await clone?.drop();
  });

  async function agentsWith(ttls: PresenceTtls): Promise<Agents> {
    const store = await storeUnderTest.open(database, ttls, PROVIDERS);
    opened.push(store);
    return new Agents(store, database, ttls, storeUnderTest.elsewhere);
  }

  it('an agent that is unknown, or that has not registered, is not kept alive', async () => {
    const agents = await agentsWith(LONG);
    const unknown = { machineId: 'ffffffff', poolName: 'gpu', providerName: 'generic' };
    expect(await agents.keepOne(said(unknown))).toEqual({ outcome: 'gone' });
    const pending = await agents.pending('gpu');
    expect(await agents.keepOne(said(pending))).toEqual({ outcome: 'gone' });
    expect(await agents.store.read([pending, unknown])).toEqual([
      expect.objectContaining({ agentVersion: '', lastKeepaliveAt: null, metrics: {} }),
      null,
    ]);
  });

  it('one that has registered waits to be made ready, and then is kept with version and time', async () => {
    const agents = await agentsWith(LONG);
    const agent = await agents.pending('gpu');
    await agents.register([agent]);
    expect(await agents.keepOne(said(agent))).toEqual({ outcome: 'waiting' });
    await agents.makeReady([said(agent, { agentVersion: '0.2.0' })]);
    const before = Date.now();
    const kept = await agents.keepOne(said(agent, { agentVersion: '0.3.0' }));
    expect(kept).toEqual({ outcome: 'kept', agentVersion: '0.3.0', at: expect.any(Date) });
    const at = kept?.outcome === 'kept' ? kept.at.getTime() : 0;
    expect(Math.abs(at - before)).toBeLessThan(2_000);
    // Who does not say it again has the version that is known.
    expect(await agents.keepOne(said(agent, { agentVersion: null }))).toMatchObject({
      agentVersion: '0.3.0',
    });
    await agents.register([agent]);
    expect(await agents.keepOne(said(agent))).toEqual({ outcome: 'waiting' });
  });

  it('metrics that a keepalive does not contain stay as they were', async () => {
    const agents = await agentsWith(LONG);
    const [agent] = (await agents.ready('gpu')) as [AgentAddress];
    await agents.keepOne(
      said(agent, { metrics: { cpu_utilization_pct: 15.5, cache_capacity: 2 ** 52 + 1 } }),
    );
    await agents.keepOne(said(agent, { metrics: { cpu_utilization_pct: 0, worker_count: 3 } }));
    await agents.keepOne(said(agent, { metrics: null }));
    const [vitals] = await agents.store.read([agent]);
    expect(vitals?.metrics).toEqual({
      cpu_utilization_pct: 0,
      cache_capacity: 2 ** 52 + 1,
      worker_count: 3,
      free_gpu_count: 1,
    });
    expect(vitals?.agentVersion).toBe('0.1.0');
    expect(Math.abs((vitals?.lastKeepaliveAt?.getTime() ?? 0) - Date.now())).toBeLessThan(5_000);
    expect(Math.abs((vitals?.expiresAt?.getTime() ?? 0) - Date.now() - 300_000)).toBeLessThan(5_000);
  });

  it('is found by provider, pool and machine together', async () => {
    const agents = await agentsWith(LONG);
    const [agent] = (await agents.ready('gpu')) as [AgentAddress];
    expect(await agents.keepOne(said({ ...agent, poolName: 'cpu' }))).toEqual({ outcome: 'gone' });
    expect(await agents.keepOne(said({ ...agent, providerName: 'other' }))).toEqual({ outcome: 'gone' });
    expect(await agents.keepOne(said(agent))).toMatchObject({ outcome: 'kept' });
  });

  it('a machine may have any name that machines can have', async () => {
    const agents = await agentsWith(LONG);
    const odd = [];
    for (const name of ['machine_index', 'a.b-c_d', 'lock'])
      odd.push(await agents.pending('odd', 'generic', name));
    await agents.register(odd);
    await agents.makeReady(odd.map((address) => said(address)));
    const outcomes = await agents.store.keep(odd.map((address) => said(address)));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['kept', 'kept', 'kept']);
    expect((await agents.poolMetrics(['odd'])).get('odd')).toEqual({ free_gpu_count: 3 });
  });

  it('an entry expires one time to live after its last keepalive, and does not come back', async () => {
    const agents = await agentsWith(SHORT);
    const both = await agents.ready('brief', 2);
    const [alive, lost] = both as [AgentAddress, AgentAddress];
    for (let n = 0; n < 4; n += 1) {
      await sleep(400);
      expect(await agents.keepOne(said(alive))).toMatchObject({ outcome: 'kept' });
    }
    const [remaining, expired] = await agents.store.lifetimes(both);
    expect(remaining).toBeGreaterThan(0);
    expect(remaining).toBeLessThanOrEqual(1_000);
    expect(expired).toBe(0);
    expect(await agents.expire([lost])).toEqual([lost.machineId]);

    const outcomes = await agents.store.keep([said(lost), said(alive)]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['gone', 'kept']);
    expect(await agents.store.lifetimes([lost])).toEqual([0]);
    expect(await agents.store.read([lost])).toEqual([null]);
    expect((await agents.poolMetrics(['brief'])).get('brief')).toEqual({ free_gpu_count: 1 });

    await agents.register([lost]);
    expect(await agents.keepOne(said(lost))).toEqual({ outcome: 'waiting' });
    await agents.makeReady([said(lost)]);
    expect(await agents.keepOne(said(lost))).toMatchObject({ outcome: 'kept' });
  });

  it('registered and pending entries end, too; a keepalive does not prolong them', async () => {
    const agents = await agentsWith(SHORT);
    const registered = await agents.pending('brief');
    await agents.register([registered]);
    const pending = await agents.pending('brief');
    await sleep(600);
    await agents.store.keep([said(registered), said(pending)]);
    await sleep(600);
    expect(await agents.store.lifetimes([registered, pending])).toEqual([0, 0]);
  });

  it('the time to live is that of the status', async () => {
    const agents = await agentsWith(LONG);
    const agent = await agents.pending('gpu');
    const left = async () => (await agents.store.lifetimes([agent]))[0] ?? 0;
    expect(await left()).toBeGreaterThan(3_590_000);
    await agents.register([agent]);
    expect(await left()).toBeGreaterThan(290_000);
    expect(await left()).toBeLessThanOrEqual(300_000);
  });

  it('a pool has the sums and averages of its ready agents, of all providers', async () => {
    const agents = await agentsWith(LONG);
    const [first] = (await agents.ready('sums')) as [AgentAddress];
    const [second] = (await agents.ready('sums', 1, 'other')) as [AgentAddress];
    const waits = await agents.pending('sums');
    await agents.register([waits]);
    await agents.pending('sums');
    await agents.keepOne(said(first, { metrics: { cpu_utilization_pct: 10, total_cpu_available: 8000 } }));
    await agents.keepOne(said(second, { metrics: { cpu_utilization_pct: 20, total_cpu_available: 4000 } }));
    const metrics = await agents.poolMetrics(['sums', 'nobody']);
    expect(metrics.get('sums')).toEqual({
      cpu_utilization_pct: 15,
      total_cpu_available: 12_000,
      free_gpu_count: 2,
    });
    expect(metrics.get('nobody') ?? {}).toEqual({});
  });

  it('answers batches of five hundred in their order', { tags: ['extended'] }, async () => {
    const agents = await agentsWith(LONG);
    const addresses = await agents.ready('large', 500);
    const gone = addresses.map((address, n) => (n % 7 === 0 ? { ...address, poolName: 'cpu' } : address));
    const outcomes = await agents.store.keep(
      gone.map((address, n) => said(address, { agentVersion: `v${n}`, metrics: { worker_count: n } })),
    );
    expect(outcomes).toEqual(
      gone.map((_address, n) =>
        n % 7 === 0 ? { outcome: 'gone' } : { outcome: 'kept', agentVersion: `v${n}`, at: expect.any(Date) },
      ),
    );
    const vitals = await agents.store.read(addresses);
    expect(vitals.map((found) => found?.metrics.worker_count)).toEqual(
      addresses.map((_address, n) => (n % 7 === 0 ? undefined : n)),
    );
    expect(await agents.store.lifetimes(addresses)).toHaveLength(500);
    expect((await agents.poolMetrics(['large'])).get('large')?.free_gpu_count).toBe(500);
  });

  it('many at once: every batch is answered, none is lost, and a registration among them stands', async () => {
    const agents = await agentsWith(LONG);
    const addresses = await agents.ready('crowd', 40);
    const [renewed, ...others] = addresses as [AgentAddress, ...AgentAddress[]];
    const batches = Array.from({ length: 3 }, (_item, n) =>
      untilNotDeadlocked(() =>
        agents.store.keep(others.map((address) => said(address, { metrics: { worker_count: n } }))),
      ),
    );
    const meanwhile = Array.from({ length: 10 }, () => agents.store.keep([said(renewed)]));
    const registered = agents.register([renewed]);
    for (const outcomes of await Promise.all(batches)) {
      expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(['kept']));
    }
    await Promise.all([...meanwhile, registered]);
    expect(await agents.keepOne(said(renewed))).toEqual({ outcome: 'waiting' });
  });

  it('says which store it is', async () => {
    const agents = await agentsWith(LONG);
    const first = await agents.store.incarnation();
    expect(first).toMatch(/./);
    expect(await agents.store.incarnation()).toBe(first);
  });
}
