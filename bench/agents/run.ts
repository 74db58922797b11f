/**
 * What `npm run bench:agents` prints: what keepalives of a large fleet cost, on a PostgreSQL with durable settings and a
 * server of their own. Agents are simulated by other processes on the same machine, so they take their share of it;
 * processor time, from /proc, says who used what. Ratios are of things measured alternately within this one run.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/store/embedded/embedded-postgres.ts';
import { thisBuild } from '../rig/build-commit.ts';
import { Cleanup } from '../rig/cleanup.ts';
import { ServerProcess } from '../rig/server-process.ts';
import { type Bench, rounded, show } from './bench.ts';
import { compareClosedLoops } from './closed-loop.ts';
import { expireSome, watchNothing } from './expiry.ts';
import { FLEET, fillFleet } from './fleet.ts';
import { returnAtOnce } from './herd.ts';
import { speakPooled } from './pooled.ts';
import { Processes, type Serving } from './processes.ts';
import { speakSteadily } from './steady.ts';

const PARTS = {
  idle: watchNothing,
  loops: compareClosedLoops,
  steady: speakSteadily,
  pooled: speakPooled,
  expiry: expireSome,
  herd: returnAtOnce,
} as const;
/** All of them, unless some are asked for. */
const parts = (process.env.BENCH_PARTS ?? Object.keys(PARTS).join()).split(',');

/**
 * A fleet of this size has a PostgreSQL that is set up for it (docs/scaling.md): its rows fit into memory, and are written to disk
 * once in some minutes.
 */
const LARGE_FLEET = 500_000;
const settingsFor = (fleet: number): Readonly<Record<string, string>> =>
  fleet < LARGE_FLEET ? {} : { shared_buffers: '2GB', max_wal_size: '8GB', checkpoint_timeout: '15min' };

const WORKERS = Number(process.env.INGOT_WORKERS ?? 1);

/** As it is deployed: several workers behind one port. The herd, which stops its server, has one process all the same. */
async function serveWorkers(
  env: { readonly DATABASE_URL: string; readonly INGOT_DATA_DIR: string },
  cleanup: Cleanup,
): Promise<Serving> {
  const options = { build: thisBuild(), databaseUrl: env.DATABASE_URL, dataDir: env.INGOT_DATA_DIR, cleanup };
  const server = await ServerProcess.start(options);
  show('workers', String(WORKERS));
  return { pid: server.pid, port: server.httpPort };
}

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-agents-'));
  const postgres = await startEmbeddedPostgres({
    dataDir: dir,
    databases: 'any',
    settings: settingsFor(FLEET),
  });
  const processes = new Processes();
  const cleanup = new Cleanup();
  const sql = new pg.Pool({ connectionString: postgres.url, max: 2 });
  sql.on('error', () => {});
  try {
    // Every agent that is lost is a warning, and here very many are.
    const env = { DATABASE_URL: postgres.url, INGOT_DATA_DIR: dir, BENCH_LOG_LEVEL: 'error' };
    const server =
      WORKERS > 1 ? await serveWorkers(env, cleanup) : await processes.serve('../serve.js', [], env);
    await fillFleet(postgres.url);
    const sender = await processes.sender();
    const bench: Bench = { processes, dir, env, sql, postgresPid: postgres.pid, sender, server };
    show('agents that are ready', rounded(FLEET));
    for (const [name, part] of Object.entries(PARTS)) if (parts.includes(name)) await part(bench);
  } finally {
    await processes.stopAll();
    await cleanup.run();
    await sql.end();
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

const QUEUE = '/proc/sys/net/core/somaxconn';
const LONG_QUEUE = 65_535;

/**
 * How many connections wait until the server takes them is the system's setting, and docs/agents.md asks for a longer
 * queue than its default. Root gets it in a network of its own, which no other process notices.
 */
function inOwnNetwork(): boolean {
  if (process.env.BENCH_OWN_NETWORK || process.getuid?.() !== 0 || queueLength() >= LONG_QUEUE) return false;
  const { status, error } = spawnSync(
    'unshare',
    ['--net', 'sh', '-c', `ip link set lo up && echo ${LONG_QUEUE} > ${QUEUE} && exec "$@"`, 'sh'].concat(
      process.execPath,
      process.argv.slice(1),
    ),
    { stdio: 'inherit', env: { ...process.env, BENCH_OWN_NETWORK: '1' } },
  );
  if (error) return false;
  process.exitCode = status ?? 1;
  return true;
}

function queueLength(): number {
  return Number(readFileSync(QUEUE, 'utf8'));
}

if (!inOwnNetwork()) {
  show('connections that can wait for the server', rounded(queueLength()));
  await main();
}
