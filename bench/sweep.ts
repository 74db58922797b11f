/**
 * What the condition reconciler's sweep costs: `node dist/bench/sweep.js`, on Linux. The probes are those of the
 * fake provider in memory, so that what is measured is the sweep and not what it probes. A process of its own
 * sweeps, beside a server that carries out operations on the same machines; processor time is read from /proc.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import pino from 'pino';
import { MachineService } from '../src/gen/baremetal/v2/machine_service_pb.ts';
import { createFakeProvider } from '../src/providers/fake/fake-provider.ts';
import { MemoryFakeWorld } from '../src/providers/fake/memory-fake-world.fixture.ts';
import type { Inspect, Provider } from '../src/providers/provider.ts';
import { ConditionReconciler } from '../src/reconcilers/condition-reconciler.ts';
import { readConfiguration } from '../src/server/settings/configuration.ts';
import { readSettings } from '../src/server/settings/settings.ts';
import { startServer } from '../src/server/start-server.ts';
import { Database } from '../src/store/database/database.ts';
import { startEmbeddedPostgres } from '../src/store/embedded/embedded-postgres.ts';
import { insertMissingProbes } from '../src/store/machines/machine-probes.ts';
import { sleep } from '../src/time/sleep.ts';
import { LoadClient } from './client.ts';
import { percentiles, perSecond } from './measure.ts';
import { cpuSeconds } from './processor-time.ts';

const fleet = Number(process.env.BENCH_FLEET ?? 100_000);
const intervalMs = Number(process.env.BENCH_INTERVAL_MS ?? 60_000);
const operations = Number(process.env.BENCH_OPERATIONS ?? 2_000);
/** What else happens on this machine changes from second to second, so the middle one of several counts. */
const ROUNDS = 7;

/** What the sweeping process measured since it was last asked. */
interface SweepReport {
  readonly probes: number;
  readonly seconds: number;
  readonly worstSecond: number;
  readonly behind: number;
}

type Request = 'start' | 'stop' | 'report';

/** The sweeping process: carries out requests, and counts the probes in every second. */
async function sweep(): Promise<void> {
  const database = new Database({
    url: process.env.DATABASE_URL ?? '',
    maxConnections: 3,
    onIdleError: () => {},
  });
  let times: number[] = [];
  let behind = 0;
  let since = performance.now();
  const provider = counted(
    createFakeProvider({ name: 'fake', world: new MemoryFakeWorld(), now: Date.now }),
    () => times.push(performance.now()),
  );
  const create = () =>
    new ConditionReconciler({
      database,
      providers: new Map([['fake', provider]]),
      settings: { intervalMs, concurrency: 64, probeTimeoutMs: 5_000, maxMisses: 3 },
      now: () => new Date(),
      monotonicNow: () => performance.now(),
      watch: { passed: () => {}, failed: (_loop, error) => console.error(error) },
      onError: (error) => console.error(error),
      onBehind: (probes) => {
        behind += probes;
      },
    });
  let reconciler: ConditionReconciler | null = null;
  const requests = {
    start: async () => {
      reconciler = create();
      reconciler.start();
    },
    stop: async () => {
      await reconciler?.stop(5_000);
      reconciler = null;
    },
    report: async () => {
      const report = { probes: times.length, seconds: (performance.now() - since) / 1000, behind };
      const worstSecond = mostInASecond(times);
      times = [];
      behind = 0;
      since = performance.now();
      return { ...report, worstSecond };
    },
  } as const satisfies Record<Request, () => Promise<unknown>>;
  process.on('message', async (request: Request) => process.send?.((await requests[request]()) ?? null));
  process.once('disconnect', () => process.exit(0));
}

function counted(provider: Provider, count: () => void): Provider {
  const inspect = provider.capabilities.inspect as Inspect;
  const host: Inspect['host'] = (machine, signal) => {
    count();
    return inspect.host(machine, signal);
  };
  return { ...provider, capabilities: { inspect: { ...inspect, host } } };
}

function mostInASecond(times: readonly number[]): number {
  let from = 0;
  return times.reduce((most, time, index) => {
    while ((times[from] ?? time) <= time - 1_000) from += 1;
    return Math.max(most, index - from + 1);
  }, 0);
}

function ask(child: ChildProcess, request: Request): Promise<SweepReport> {
  return new Promise((resolve) => {
    child.once('message', (answer) => resolve(answer as SweepReport));
    child.send(request);
  });
}

async function fill(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT 'fleet-' || lpad(i::text, 7, '0'), '{"fake/step-ms": "0", "env": "prod"}',
       jsonb_build_object('ssh_endpoint', 'host-' || i, 'bmc_endpoint', 'bmc-' || i,
         'target_cluster_ref', 'cluster-a', 'mac_addresses', '[]'::jsonb, 'provider', 'fake'), 'READY'
     FROM generate_series(0, $1::int - 1) i`,
    [fleet],
  );
  await client.query('VACUUM ANALYZE machines');
  await client.end();
}

function show(what: string, value: string): void {
  console.log(`${what.padEnd(62)} ${value}`);
}

const rounded = (value: number): string => Math.round(value).toLocaleString('en');

interface Bench {
  readonly database: Database;
  readonly postgresPid: number;
  readonly sweeper: ChildProcess;
  readonly client: LoadClient;
}

/** One interval of sweeping, and what it cost. */
async function sweepOnce(bench: Bench, what: string, idleDatabase: number): Promise<void> {
  const { sweeper, postgresPid } = bench;
  await ask(sweeper, 'report');
  const before = {
    sweeper: cpuSeconds(sweeper.pid ?? 0, 'alone'),
    database: cpuSeconds(postgresPid, 'with children'),
  };
  await sleep(intervalMs);
  const { probes, seconds, worstSecond, behind } = await ask(sweeper, 'report');
  const sweeperCpu = cpuSeconds(sweeper.pid ?? 0, 'alone') - before.sweeper;
  const databaseCpu = cpuSeconds(postgresPid, 'with children') - before.database - idleDatabase * seconds;
  const perThousand = (cpu: number) => `${((cpu / probes) * 1e6).toFixed(0)} ms`;
  show(
    what,
    `${rounded(probes)} in ${seconds.toFixed(0)} s, ${rounded(probes / seconds)}/s; ${behind} put off`,
  );
  show('  database CPU for 1,000 probes', perThousand(databaseCpu));
  show('  reconciler CPU for 1,000 probes', perThousand(sweeperCpu));
  show('  worst second against the average', (worstSecond / (probes / seconds)).toFixed(2));
}

/** One-step operations on machines that no round has used before: started to finished, how many a second. */
async function operate(bench: Bench, round: number): Promise<number> {
  const { client, database } = bench;
  const startedAt = performance.now();
  await perSecond(operations, 256, (index) =>
    client.unary(MachineService.method.enterMaintenance, {
      machineId: `fleet-${String(round * operations + index).padStart(7, '0')}`,
      requestId: 'sweep',
    }),
  );
  for (let active = 1; active > 0; ) {
    const text = `SELECT count(*) FROM operations WHERE status IN ('pending', 'running', 'compensating')`;
    const [row] = await database.run<{ count: number }>('active', text);
    active = row?.count ?? 0;
    await sleep(10);
  }
  return operations / ((performance.now() - startedAt) / 1000);
}

async function untilAllAreKnown(database: Database): Promise<void> {
  for (let unknown = 1; unknown > 0; ) {
    await sleep(intervalMs / 10);
    const text = `SELECT count(*) FROM machines WHERE conditions = '{}'`;
    const [row] = await database.run<{ count: number }>('unknown', text);
    unknown = row?.count ?? 0;
  }
  // What the first probes left behind is cleared away before the next are measured.
  await database.run('vacuum', 'VACUUM ANALYZE machines, machine_looks, events');
}

async function measure(bench: Bench): Promise<void> {
  const { database, sweeper, postgresPid } = bench;
  const idleBefore = cpuSeconds(postgresPid, 'with children');
  await sleep(5_000);
  const idleDatabase = (cpuSeconds(postgresPid, 'with children') - idleBefore) / 5;

  await ask(sweeper, 'start');
  await sweepOnce(bench, 'first probes, each of which changes its machine', idleDatabase);
  await untilAllAreKnown(database);
  await sweepOnce(bench, 'probes that change nothing', idleDatabase);

  const searchedAt = performance.now();
  await insertMissingProbes(database, 1_000);
  show('searching for new machines when there are none', `${rounded(performance.now() - searchedAt)} ms`);

  await operate(bench, 0);
  const ratios: number[] = [];
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const withSweep = await operate(bench, 1 + 2 * round);
    await ask(sweeper, 'stop');
    const without = await operate(bench, 2 + 2 * round);
    await ask(sweeper, 'start');
    await sleep(intervalMs / 10);
    ratios.push(withSweep / without);
    rates.push(without);
  }
  show('one-step operations, started to finished, without the sweep', `${rounded(percentiles(rates).p50)}/s`);
  const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  show('the same with it, against without', `${percentiles(ratios).p50.toFixed(2)} (${spread})`);
}

/** The serving process. Its own reconciler stays off: what sweeps here is the process that is measured. */
async function serve(): Promise<void> {
  const addresses = { httpAddress: '127.0.0.1:0', grpcAddress: '127.0.0.1:0' };
  const configuration = readConfiguration(null);
  const server = await startServer({
    settings: readSettings(process.env, addresses, process.cwd()),
    configuration: { ...configuration, looks: { ...configuration.looks, enabled: false } },
    log: pino({ level: 'warn' }, pino.destination(2)),
    onFatal: (error) => {
      throw error;
    },
  });
  process.send?.({ port: server.grpcPort, tokenFile: server.adminTokenFile });
  process.once('disconnect', () => void server.stop().then(() => process.exit(0)));
}

function forkMode(mode: keyof typeof MODES, env: NodeJS.ProcessEnv): ChildProcess {
  return fork(fileURLToPath(import.meta.url), [mode], { env });
}

async function main(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'ingot-sweep-'));
  const postgres = await startEmbeddedPostgres({ dataDir, databases: 'any' });
  const children: ChildProcess[] = [];
  try {
    const env = { ...process.env, DATABASE_URL: postgres.url, INGOT_DATA_DIR: dataDir };
    const server = forkMode('serve', env);
    children.push(server);
    const [{ port, tokenFile }] = (await once(server, 'message')) as [{ port: number; tokenFile: string }];
    const token = readFileSync(tokenFile, 'utf8').trim();
    const sweeper = forkMode('sweep', env);
    children.push(sweeper);
    await fill(postgres.url);
    const database = new Database({ url: postgres.url, maxConnections: 2, onIdleError: () => {} });
    const client = new LoadClient(`127.0.0.1:${port}`, token);
    await measure({ database, postgresPid: postgres.pid, sweeper, client });
    client.close();
    await database.close();
  } finally {
    for (const child of children) {
      if (child.connected) child.disconnect();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const MODES = { bench: main, serve, sweep } as const;

await MODES[(process.argv[2] ?? 'bench') as keyof typeof MODES]();
