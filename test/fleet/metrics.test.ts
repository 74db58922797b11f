// @module-tag extended: fleet/overview.test.ts has the same counts; src/surfaces writes them as text.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { METRIC_NAMES } from '../../src/domain/agent/agent.ts';
import { FleetService, type MetricSample } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { claimSample, readSamples, storeSamples } from '../../src/store/agents/metric-samples.ts';
import { Database } from '../../src/store/database/database.ts';
import { describeInBothStores } from '../agents/both-stores.ts';
import { type Enrolled, enrol, keepalive, post } from '../agents/calls.ts';
import { newMachine } from '../api/fleet.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

function historyOf(server: TestServer, { machineId }: Pick<Enrolled, 'machineId'>): Promise<MetricSample[]> {
  const fleet = server.client(FleetService, server.adminToken);
  return fleet.getMetricHistory({ machineId }).then(({ samples }) => samples);
}

const cpus = (samples: readonly MetricSample[]) => samples.map(({ metrics }) => metrics.cpu_utilization_pct);

describeInBothStores('the history with keepalives', (store) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await store.startServer({ pools: ['gpu'], metricSampleSeconds: 1 });
  });

  const report = (machine: Enrolled, cpu: number) =>
    post(server, 'keepalive', machine.token, keepalive(machine, { metrics: { cpu_utilization_pct: cpu } }));

  const stored = async ({ machineId }: Enrolled) =>
    (await server.sql('SELECT at FROM metric_samples WHERE machine_id = $1', [machineId])).length;

  it('is what an agent reported, oldest first, and ends with its last report', async () => {
    const machine = await enrol(server);
    await until(
      () => stored(machine),
      (count) => count > 0,
    );
    for (const cpu of [20, 30]) {
      const before = await stored(machine);
      await sleep(1_100);
      await report(machine, cpu);
      await until(
        () => stored(machine),
        (count) => count > before,
      );
    }
    const sampled = await historyOf(server, machine);
    expect(cpus(sampled)).toEqual([15.5, 20, 30]);
    expect(sampled[0]?.metrics).toMatchObject({ memory_utilization_pct: 42.3, free_gpu_count: 1 });
    const times = sampled.map(({ at }) => Number(at?.seconds) + Number(at?.nanos) / 1e9);
    expect(times).toEqual([...times].sort((left, right) => left - right));
    expect(Math.abs((times.at(-1) ?? 0) - Date.now() / 1000)).toBeLessThan(20);
  });

  it('has nothing of an agent that has said nothing new', async () => {
    const machine = await enrol(server);
    await until(
      () => stored(machine),
      (count) => count > 0,
    );
    await sleep(3_500);
    // A store that knows only the second is asked about a whole one.
    expect(await stored(machine)).toBeLessThanOrEqual(2);
    expect(cpus(await historyOf(server, machine))).toEqual([15.5]);
  });
});

describe('without samples', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({ pools: ['gpu'] });
  });
  afterAll(() => server?.stop());

  it('there is the newest value alone', async () => {
    expect(cpus(await historyOf(server, await enrol(server)))).toEqual([15.5]);
    const [row] = await server.sql<{ count: string }>('SELECT count(*) FROM metric_samples');
    expect(Number(row?.count)).toBe(0);
  });

  it('there is nothing of a machine that has no agent, and no history of one that is not there', async () => {
    expect(await historyOf(server, { machineId: await newMachine(server) })).toEqual([]);
    expect(await refusal(historyOf(server, { machineId: 'nobody' }))).toMatchObject({ code: 'NOT_FOUND' });
    expect((await refusal(historyOf(server, { machineId: '' }))).code).toBe('INVALID_ARGUMENT');
  });
});

describe('a sample', () => {
  let clone: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    clone = await cloneDatabase();
    database = new Database({ url: clone.url, maxConnections: 8, onIdleError: () => {} });
  });
  afterAll(async () => {
    await database?.close();
    await clone?.drop();
  });

  const last = (ago: string) =>
    database.run('', `UPDATE metric_sampling SET sampled_at = now() - interval '${ago}'`);
  const counts = async () => {
    const rows = await database.run<{ slot: number; count: number }>(
      '',
      'SELECT slot, count(*) AS count FROM metric_samples GROUP BY slot ORDER BY slot',
    );
    return rows.map(({ slot }) => slot);
  };
  const fill = async () => {
    for (let slot = 0; slot < 7; slot += 1) await storeSamples(database, slot, [sample(new Date())]);
  };
  const sample = (at: Date) => ({ machineId: 'm-1', at, metrics: { worker_count: 1 } });

  it('is taken by one of many concurrent replicas, and not again before it is due', async () => {
    const claims = await Promise.all(Array.from({ length: 8 }, () => claimSample(database, 300)));
    expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
    expect(await claimSample(database, 300)).toBeNull();
    await last('301 seconds');
    expect(await claimSample(database, 300)).not.toBeNull();
  });

  it('begins an hour with an empty slot, and leaves the other slots alone', async () => {
    await fill();
    await last('1 hour');
    const claim = await claimSample(database, 300);
    const others = [0, 1, 2, 3, 4, 5, 6].filter((slot) => slot !== claim?.slot);
    expect(await counts()).toEqual(others);
    await storeSamples(database, claim?.slot ?? 0, [sample(new Date())]);
    expect(await claimSample(database, 0)).toEqual({ slot: claim?.slot, since: expect.any(Date) });
    expect(await counts()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('keeps every metric as it was reported', async () => {
    const metrics = Object.fromEntries(
      METRIC_NAMES.map((name, index) => [name, 4_000_000_000_001.5 + index]),
    );
    const at = new Date();
    await storeSamples(database, 3, [{ machineId: 'exact', at, metrics }]);
    expect(await readSamples(database, 'exact')).toEqual([{ at, metrics }]);
  });

  it('is shown for six hours, once', async () => {
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
    const ages = [6.1, 5.9, 2, 2, 0.1];
    await storeSamples(
      database,
      2,
      ages.map((age) => ({ ...sample(hoursAgo(age)), machineId: 'aged' })),
    );
    const twice = hoursAgo(1);
    await storeSamples(database, 2, [{ ...sample(twice), machineId: 'aged' }]);
    await storeSamples(database, 3, [{ ...sample(twice), machineId: 'aged' }]);
    const shown = await readSamples(database, 'aged');
    const hours = shown.map(({ at }) => Math.round((Date.now() - at.getTime()) / 360_000) / 10);
    expect([...new Set(hours)]).toEqual([5.9, 2, 1, 0.1]);
    expect(hours.filter((age) => age === 1)).toHaveLength(1);
  });
});
