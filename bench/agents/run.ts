/**
 * What `npm run bench:agents` prints: what keepalives of a large fleet cost, on a PostgreSQL with durable settings and a
 * server of their own. Agents are simulated by other processes on the same machine, so they take their share of it;
 * processor time, from /proc, says who used what. Ratios are of things measured in turns within this one run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/store/embedded/embedded-postgres.ts';
import { type Bench, rounded, show } from './bench.ts';
import { compareClosedLoops } from './closed-loop.ts';
import { expireSome, watchNothing } from './expiry.ts';
import { FLEET, fillFleet } from './fleet.ts';
import { returnAtOnce } from './herd.ts';
import { Processes } from './processes.ts';
import { speakSteadily } from './steady.ts';

const PARTS = {
  idle: watchNothing,
  loops: compareClosedLoops,
  steady: speakSteadily,
  expiry: expireSome,
  herd: returnAtOnce,
} as const;
/** All of them, unless some are asked for. */
const parts = (process.env.BENCH_PARTS ?? Object.keys(PARTS).join()).split(',');

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-agents-'));
  const postgres = await startEmbeddedPostgres({ dataDir: dir });
  const processes = new Processes();
  const sql = new pg.Pool({ connectionString: postgres.url, max: 2 });
  sql.on('error', () => {});
  try {
    // Every agent that is lost is a warning, and here very many are.
    const env = { DATABASE_URL: postgres.url, INGOT_DATA_DIR: dir, BENCH_LOG_LEVEL: 'error' };
    const server = await processes.serve('../serve.js', [], env);
    await fillFleet(postgres.url);
    const sender = await processes.sender();
    const bench: Bench = { processes, dir, env, sql, postgresPid: postgres.pid, sender, server };
    show('agents that are ready', rounded(FLEET));
    for (const [name, part] of Object.entries(PARTS)) if (parts.includes(name)) await part(bench);
  } finally {
    await processes.stopAll();
    await sql.end();
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

await main();
