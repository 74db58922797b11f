/**
 * What `npm run bench:rollouts` prints, on Linux: how long the creation of a large rollout takes, whether the server's memory
 * grows with it, and what a finished machine costs in processor time of the server and of PostgreSQL, as a ratio to the same
 * operation started by single calls in the same run. BENCH_MACHINES says how many machines there are.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { RolloutService } from '../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { MachineService } from '../src/gen/baremetal/v2/machine_service_pb.ts';
import { startEmbeddedPostgres } from '../src/store/embedded/embedded-postgres.ts';
import { sleep } from '../src/time/sleep.ts';
import { LoadClient } from './client.ts';
import { perSecond } from './measure.ts';
import { cpuSeconds, residentMB } from './processor-time.ts';

const machines = Number(process.env.BENCH_MACHINES ?? 50_000);
/** Single operations before and after the rollout: what else happens on this machine changes with time. */
const singles = Math.max(500, Math.ceil(machines / 10));

function show(what: string, value: string): void {
  console.log(`${what.padEnd(72)} ${value}`);
}

const rounded = (value: number): string => Math.round(value).toLocaleString('en');

interface Bench {
  readonly client: LoadClient;
  readonly database: pg.Client;
  readonly serverPid: number;
  readonly postgresPid: number;
}

async function fill({ database }: Bench): Promise<void> {
  for (const [name, count] of [
    ['fleet', machines],
    ['single', 2 * singles],
  ] as const)
    await database.query(
      `INSERT INTO machines (machine_id, labels, spec, phase)
       SELECT $1 || '-' || lpad(i::text, 7, '0'), jsonb_build_object('fake/step-ms', '0', 'role', $1::text),
         jsonb_build_object('ssh_endpoint', $1 || '-' || i, 'bmc_endpoint', $1 || '-bmc-' || i, 'provider', 'fake', 'location',
           jsonb_build_object('rack', 'r' || i % 500)), 'READY'
       FROM generate_series(0, $2::int - 1) i`,
      [name, count],
    );
  await database.query('VACUUM ANALYZE machines');
}

/** Processor seconds of both, while the work runs. */
async function cost(bench: Bench, work: () => Promise<void>): Promise<number> {
  const before = used(bench);
  await work();
  return used(bench) - before;
}

function used({ serverPid, postgresPid }: Bench): number {
  return cpuSeconds(serverPid, 'alone') + cpuSeconds(postgresPid, 'with children');
}

async function runSingles(bench: Bench, from: number): Promise<number> {
  const { client, database } = bench;
  const seconds = await cost(bench, async () => {
    await perSecond(singles, 256, (index) =>
      client.unary(MachineService.method.rebootMachine, {
        machineId: `single-${String(from + index).padStart(7, '0')}`,
        requestId: `bench-${from}`,
      }),
    );
    for (let active = 1; active > 0; await sleep(20)) {
      const { rows } = await database.query<{ count: string }>(
        `SELECT count(*) FROM operations WHERE status IN ('pending', 'running', 'compensating')`,
      );
      active = Number(rows[0]?.count ?? 0);
    }
  });
  return seconds / singles;
}

async function runRollout(bench: Bench): Promise<number> {
  const { client, database, serverPid } = bench;
  const memoryBefore = residentMB(serverPid);
  const samples: Array<{ done: number; memory: number }> = [];
  let rolloutId = '';
  const seconds = await cost(bench, async () => {
    const startedAt = performance.now();
    const createdAt = used(bench);
    const created = await client.unary(RolloutService.method.createRollout, {
      requestId: 'bench',
      spec: {
        name: 'bench',
        filter: 'labels.role=fleet',
        steps: [{ step: { case: 'reboot', value: {} } }],
        waves: ['1', '1%', 'rest'],
        maxParallel: '500',
      },
    });
    rolloutId = created.rolloutId;
    const creation = `${((performance.now() - startedAt) / 1000).toFixed(2)} s, ${(used(bench) - createdAt).toFixed(2)} s`;
    show(`creation of a rollout of ${rounded(machines)} machines, time and processor time`, creation);
    for (;;) {
      await sleep(1_000);
      const { rows } = await database.query<{ done: number; ended: boolean }>(
        `SELECT sum(succeeded)::integer AS done, bool_or(r.finished_at IS NOT NULL) AS ended
         FROM rollout_waves w JOIN rollouts r USING (rollout_id) WHERE rollout_id = $1`,
        [rolloutId],
      );
      const [row] = rows;
      samples.push({ done: row?.done ?? 0, memory: residentMB(serverPid) });
      if (row?.ended) break;
    }
    show('  machines a second', rounded(machines / ((performance.now() - startedAt) / 1000)));
  });
  const { rows } = await database.query<{ state: string }>(
    'SELECT state FROM rollouts WHERE rollout_id = $1',
    [rolloutId],
  );
  if (rows[0]?.state !== 'succeeded') throw new Error(`the rollout ended ${rows[0]?.state}`);
  show(
    '  memory of the server, before and at most',
    `${rounded(memoryBefore)} MB, ${rounded(Math.max(...samples.map(({ memory }) => memory)))} MB`,
  );
  show(
    '  its growth for 10,000 finished machines, over the last two thirds',
    `${slope(samples).toFixed(1)} MB`,
  );
  return seconds / machines;
}

/** Of a straight line through the samples. */
function slope(all: ReadonlyArray<{ done: number; memory: number }>): number {
  const samples = all.slice(Math.floor(all.length / 3));
  const mean = (of: (sample: { done: number; memory: number }) => number) =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / Math.max(1, samples.length);
  const x = mean(({ done }) => done);
  const y = mean(({ memory }) => memory);
  const over = samples.reduce((sum, { done, memory }) => sum + (done - x) * (memory - y), 0);
  const under = samples.reduce((sum, { done }) => sum + (done - x) ** 2, 0);
  return under === 0 ? 0 : (over / under) * 10_000;
}

const folder = mkdtempSync(join(tmpdir(), 'ingot-test-postgres-bench-'));
const postgres = await startEmbeddedPostgres({ dataDir: folder });
const child = spawn(process.execPath, [new URL('./serve.js', import.meta.url).pathname], {
  env: { ...process.env, DATABASE_URL: postgres.url, INGOT_DATA_DIR: join(folder, 'data') },
  stdio: ['ignore', 'pipe', 'inherit'],
});
process.once('exit', () => child.kill('SIGKILL'));
try {
  const { grpcPort, tokenFile } = await new Promise<{ grpcPort: number; tokenFile: string }>(
    (resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`the server exited with ${code}`)));
      child.stdout.once('data', (data: Buffer) => resolve(JSON.parse(data.toString())));
    },
  );
  const database = new pg.Client({ connectionString: postgres.url });
  // What ends it is reported by the statement that fails.
  database.on('error', () => {});
  await database.connect();
  const client = new LoadClient(`127.0.0.1:${grpcPort}`, readFileSync(tokenFile, 'utf8').trim());
  const postgresPid = postgres.pid;
  const bench: Bench = { client, database, serverPid: child.pid ?? 0, postgresPid };
  await fill(bench);
  const before = await runSingles(bench, 0);
  const inRollout = await runRollout(bench);
  const after = await runSingles(bench, singles);
  const single = (before + after) / 2;
  show(
    'processor time of a single operation, before and after',
    `${(before * 1000).toFixed(2)} ms, ${(after * 1000).toFixed(2)} ms`,
  );
  show('processor time of a machine of the rollout', `${(inRollout * 1000).toFixed(2)} ms`);
  show('ratio (at most 1.2)', (inRollout / single).toFixed(2));
  client.close();
  await database.end();
} finally {
  child.removeAllListeners('exit');
  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('exit', resolve));
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
