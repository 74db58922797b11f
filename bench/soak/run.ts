/**
 * What `npm run soak` prints: whether anything grows that should not, under mixed load for a long time. One replica runs from begin
 * to end and is measured; the other is alternately stopped and killed.
 */
import { mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sleep } from '../../src/time/sleep.ts';
import { fillFleet } from '../agents/fleet.ts';
import { LoadClient } from '../client.ts';
import { enterMaintenanceOn, registerOn } from '../parts/operations.ts';
import { ArgumentError, argumentsOrExit } from '../rig/arguments.ts';
import { thisBuild } from '../rig/build-commit.ts';
import { type Cleanup, runWithCleanup } from '../rig/cleanup.ts';
import { median, rounded } from '../rig/figures.ts';
import { ServerProcess } from '../rig/server-process.ts';
import { type BenchPostgres, startPostgres, temporaryDir } from '../rig/subject.ts';
import { SoakLoad, type Target } from './load.ts';
import { type Sample, type Trend, trendOf } from './slopes.ts';

const USAGE = `npm run soak -- [options]
  --minutes <n>   for how long (default 30; parts of a minute are allowed)
  --json          figures for machines
ends with 1 when a figure grows, or when a call failed although its server was not away`;

interface SoakArguments {
  readonly minutes: number;
  readonly form: 'text' | 'json';
}

function readSoakArguments(argv: readonly string[]): SoakArguments {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: { minutes: { type: 'string', default: '30' }, json: { type: 'boolean', default: false } },
    });
    const minutes = Number(values.minutes);
    if (!(minutes > 0 && minutes <= 10_000))
      throw new ArgumentError(`--minutes: ${values.minutes} is no number above 0`);
    return { minutes, form: values.json ? 'json' : 'text' };
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
}

const MACHINES = 400;
const SAMPLES = 60;
const MOST_RESTARTS = 6;
/** What each may grow by within the run, of its mean. Latency has the noise of the machine in it. */
const MOST_GROWTH = {
  'memory of the server, MB': 0.1,
  'its heap, MB': 0.25,
  'its handles': 0.1,
  'connections to PostgreSQL': 0.1,
  'dead rows, of all rows': 0.25,
  'operation, call to end, ms': 0.3,
  'a list, an overview and events, ms': 0.3,
} as const;
type Watched = keyof typeof MOST_GROWTH;

async function startReplica(
  postgres: BenchPostgres,
  dir: string,
  name: string,
  cleanup: Cleanup,
): Promise<{ server: ServerProcess; target: Target }> {
  const dataDir = join(dir, name);
  mkdirSync(dataDir, { recursive: true });
  const options = { build: thisBuild(), databaseUrl: postgres.url, dataDir, cleanup };
  const server = await ServerProcess.start(options);
  return { server, target: targetOf(server) };
}

function targetOf(server: ServerProcess): Target {
  return { client: new LoadClient(server.grpcAddress, server.token), httpPort: server.httpPort };
}

/** Ends alternately as in an update and as in a crash, and comes back. */
async function restart(server: ServerProcess, target: Target, count: number): Promise<void> {
  const { client } = target;
  target.client = null;
  target.httpPort = null;
  await (count % 2 === 0 ? server.stop() : server.kill());
  client?.close();
  await server.start();
  Object.assign(target, targetOf(server));
}

async function figures(
  postgres: BenchPostgres,
  server: ServerProcess,
  load: SoakLoad,
): Promise<Record<Watched, number>> {
  const { rss, heapUsed, handles } = await server.vitals();
  const { rows } = await postgres.sql.query<{ connections: number; dead: number }>(
    `SELECT (SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database()) AS connections,
       (SELECT coalesce(sum(n_dead_tup) / nullif(sum(n_live_tup + n_dead_tup), 0), 0)::float8 FROM pg_stat_user_tables) AS dead`,
  );
  const { operations, reads } = load.take();
  return {
    'memory of the server, MB': rss / 2 ** 20,
    'its heap, MB': heapUsed / 2 ** 20,
    'its handles': handles,
    'connections to PostgreSQL': rows[0]?.connections ?? 0,
    'dead rows, of all rows': rows[0]?.dead ?? 0,
    'operation, call to end, ms': median(operations),
    'a list, an overview and events, ms': median(reads),
  };
}

function showTrend({ what, first, last, perHour, growth, verdict }: Trend): string {
  const shown = (value: number) => (Math.abs(value) < 10 ? value.toFixed(2) : rounded(value));
  return `${what.padEnd(44)} ${shown(first)} to ${shown(last)}, ${shown(perHour)} an hour, ${(growth * 100).toFixed(0)} % in the run: ${verdict}`;
}

async function main({ minutes, form }: SoakArguments, cleanup: Cleanup): Promise<void> {
  const dir = temporaryDir('soak', cleanup);
  const postgres = await startPostgres(dir, cleanup);
  const steady = await startReplica(postgres, dir, 'steady', cleanup);
  const other = await startReplica(postgres, dir, 'other', cleanup);
  cleanup.add(() => steady.target.client?.close());
  cleanup.add(() => other.target.client?.close());
  await fillFleet(postgres.url, 1_000);
  const clients = steady.target.client === null ? [] : [steady.target.client];
  await registerOn(clients, 'soak', MACHINES);
  await enterMaintenanceOn(clients, 'soak', MACHINES);
  const load = new SoakLoad([steady.target, other.target], MACHINES);
  load.start();
  const samples = new Map<Watched, Sample[]>();
  const everyMs = (minutes * 60_000) / SAMPLES;
  const restartEvery = Math.floor(SAMPLES / (1 + Math.min(MOST_RESTARTS, Math.ceil(minutes))));
  const startedAt = performance.now();
  let restarts = 0;
  for (let sample = 1; sample <= SAMPLES; sample += 1) {
    await sleep(Math.max(0, startedAt + sample * everyMs - performance.now()));
    const seconds = (performance.now() - startedAt) / 1000;
    for (const [what, value] of Object.entries(await figures(postgres, steady.server, load)))
      if (!Number.isNaN(value))
        samples.set(what as Watched, [...(samples.get(what as Watched) ?? []), { seconds, value }]);
    if (sample % restartEvery === 0 && sample < SAMPLES) {
      await restart(other.server, other.target, restarts);
      restarts += 1;
    }
    if (form === 'text' && sample % 10 === 0)
      console.error(`${sample} of ${SAMPLES}: ${rounded(load.operations)} operations`);
  }
  await load.stop();
  const trends = [...samples].map(([what, of]) => trendOf(what, of, MOST_GROWTH[what]));
  if (load.failures > 0 || trends.some(({ verdict }) => verdict === 'grows')) process.exitCode = 1;
  const did = { operations: load.operations, watches: load.watches, restarts, failures: load.failures };
  if (form === 'json') {
    console.log(JSON.stringify({ minutes, ...did, trends, load: loadavg()[0] }, null, 2));
    return;
  }
  for (const trend of trends) console.log(showTrend(trend));
  console.log(
    `${minutes} minutes: ${rounded(did.operations)} operations, ${rounded(did.watches)} watches, ${restarts} restarts, ` +
      `${did.failures} calls failed although their server was not away; load of the machine ${loadavg()[0]}`,
  );
}

const args = argumentsOrExit(USAGE, readSoakArguments);
await runWithCleanup((cleanup) => main(args, cleanup));
