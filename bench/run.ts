/**
 * What `npm run bench` prints. Every figure that counts is a ratio of two things measured in this one run, on
 * this machine, against the same PostgreSQL with durable settings; the absolute numbers beside them belong to
 * the machine and to nothing else.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import pg from 'pg';
import { MachineService } from '../src/gen/baremetal/v2/machine_service_pb.ts';
import { Operation_Phase } from '../src/gen/baremetal/v2/operation_pb.ts';
import { OperationEvent_Kind, OperationService } from '../src/gen/baremetal/v2/operation_service_pb.ts';
import { startEmbeddedPostgres } from '../src/store/embedded/embedded-postgres.ts';
import { sleep } from '../src/time/sleep.ts';
import { LoadClient } from './client.ts';
import { latencies, percentiles, perSecond } from './measure.ts';

const size = Number(process.env.BENCH_OPERATIONS ?? 10_000);
const fleets = [10_000, 100_000] as const;
const children: ChildProcess[] = [];

interface Child {
  readonly grpcPort: number;
  readonly tokenFile?: string;
}

function startChild(script: string, env: NodeJS.ProcessEnv = {}): Promise<Child> {
  const child = spawn(process.execPath, [new URL(script, import.meta.url).pathname], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${script} exited with ${code}`)));
    child.stdout.once('data', (data: Buffer) => resolve(JSON.parse(data.toString()) as Child));
  });
}

function show(what: string, value: string): void {
  console.log(`${what.padEnd(62)} ${value}`);
}

const rounded = (value: number): string => Math.round(value).toLocaleString('en');
const ratio = (value: number, base: number): string => (value / base).toFixed(2);

/** The same rows, written by the database's own client as fast as single statements go. */
async function rawInserts(url: string): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: 16 });
  await pool.query(`CREATE TABLE raw_operations (LIKE operations INCLUDING DEFAULTS INCLUDING INDEXES)`);
  const steps = JSON.stringify([
    { name: 'enter-maintenance', kind: 'phase', config: { phase: 'MAINTENANCE' } },
  ]);
  const rate = await perSecond(size, 16, (index) =>
    pool.query({
      name: 'raw',
      text: `INSERT INTO raw_operations (operation_id, machine_id, request_id, request_fingerprint, type, status, contract,
        params, steps, started_by) VALUES ($1, $2, 'r', 'f', 'REBOOT', 'pending', 'operation', '{}', $3, 'bench')`,
      values: [`op-${index}`, `raw-${index}`, steps],
    }),
  );
  await pool.end();
  return rate;
}

async function fill(url: string, from: number, to: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `INSERT INTO machines (machine_id, labels, spec, phase, conditions)
     SELECT 'fleet-' || lpad(i::text, 7, '0'), jsonb_build_object('rack', 'r' || i % 500, 'env', 'prod'),
       jsonb_build_object('ssh_endpoint', 'host-' || i, 'bmc_endpoint', '', 'target_cluster_ref', '',
         'mac_addresses', '[]'::jsonb, 'provider', 'fake'),
       CASE WHEN i % 10 = 0 THEN 'MAINTENANCE' ELSE 'READY' END,
       CASE WHEN i % 1000 = 0
         THEN '{"NeedsIntervention": {"status": true, "reason": "x", "message": "", "lastTransition": "2026-01-01T00:00:00Z"}}'
         ELSE '{}' END::jsonb
     FROM generate_series($1::int, $2::int) i`,
    [from, to - 1],
  );
  await client.query('VACUUM ANALYZE machines');
  await client.end();
}

/** `done` resolves when this many operations were seen to have succeeded; `lag` has the delay of each event. */
function untilSucceeded(
  client: LoadClient,
  count: number,
): { ready: Promise<void>; done: Promise<void>; lag: number[] } {
  const stream = client.stream(OperationService.method.watchOperations, { sendSynced: true });
  const lag: number[] = [];
  let synced: () => void = () => {};
  const ready = new Promise<void>((resolve) => {
    synced = resolve;
  });
  const done = new Promise<void>((resolve, reject) => {
    let seen = 0;
    stream.on('error', (error: Error & { code?: number }) => (error.code === 1 ? undefined : reject(error)));
    stream.on('data', (event) => {
      if (event.kind === OperationEvent_Kind.SYNCED) synced();
      if (event.ts && event.kind === OperationEvent_Kind.OPERATION)
        lag.push(Date.now() - timestampDate(event.ts).getTime());
      if (event.snapshot?.phase !== Operation_Phase.SUCCEEDED || event.kind !== OperationEvent_Kind.OPERATION)
        return;
      seen += 1;
      if (seen < count) return;
      stream.cancel();
      resolve();
    });
  });
  return { ready, done, lag };
}

/** Polls until no operation is active, for a limited time. */
async function untilIdle(client: LoadClient): Promise<void> {
  for (let asked = 0; asked < 60_000; asked += 1) {
    const { operations } = await client.unary(OperationService.method.listOperations, {
      filter: 'phase=PENDING OR phase=RUNNING',
      pageSize: 1,
    });
    if (operations.length === 0) return;
    await sleep(10);
  }
  throw new Error('operations are still active');
}

function registerMachines(client: LoadClient): Promise<number> {
  return perSecond(size, 128, (index) =>
    client.unary(MachineService.method.registerMachine, {
      machine: { machineId: `bench-${index}`, labels: { 'fake/step-ms': '0' } },
    }),
  );
}

/** Returns the rate of one-step operations from the call to the end. */
async function measureOperations(client: LoadClient, raw: number): Promise<number> {
  const startedAt = performance.now();
  const starts = await perSecond(size, 512, (index) =>
    client.unary(MachineService.method.enterMaintenance, {
      machineId: `bench-${index}`,
      requestId: 'bench',
    }),
  );
  await untilIdle(client);
  const finished = size / ((performance.now() - startedAt) / 1000);
  show(
    'operations started, through gRPC',
    `${rounded(starts)}/s   ${ratio(starts, raw)} of PostgreSQL alone`,
  );
  show(
    'one-step operations, from the call to the end',
    `${rounded(finished)}/s   ${ratio(finished, raw)} of PostgreSQL alone`,
  );
  return finished;
}

async function measureReboots(client: LoadClient, raw: number): Promise<void> {
  const reboots = Math.min(size, 3_000);
  const startedAt = performance.now();
  await perSecond(reboots, 256, (index) =>
    client.unary(MachineService.method.rebootMachine, { machineId: `bench-${index}`, requestId: 'reboot' }),
  );
  await untilIdle(client);
  const rebooted = reboots / ((performance.now() - startedAt) / 1000);
  show(
    "the same with a provider's reads, writes and logs (REBOOT, fake)",
    `${rounded(rebooted)}/s   ${ratio(rebooted, raw)} of PostgreSQL alone`,
  );
}

async function measureWatcher(client: LoadClient, unwatched: number): Promise<void> {
  const watched = Math.min(size, 5_000);
  const watch = untilSucceeded(client, watched);
  await watch.ready;
  const startedAt = performance.now();
  await perSecond(watched, 256, (index) =>
    client.unary(MachineService.method.exitMaintenance, {
      machineId: `bench-${index}`,
      requestId: 'watched',
    }),
  );
  await watch.done;
  const seen = watched / ((performance.now() - startedAt) / 1000);
  show(
    'one-step operations, with a watcher that receives each change',
    `${rounded(seen)}/s   ${ratio(seen, unwatched)} of those without`,
  );
  showLag('event to watcher, under that load', watch.lag);

  const quiet = untilSucceeded(client, 200);
  await quiet.ready;
  await latencies(200, async (index) => {
    await client.unary(MachineService.method.enterMaintenance, {
      machineId: `bench-${index}`,
      requestId: 'quiet',
    });
  });
  await quiet.done;
  showLag('event to watcher, one at a time', quiet.lag);
}

function showLag(what: string, lag: readonly number[]): void {
  const { p50, p99 } = percentiles([...lag]);
  show(what, `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`);
}

async function measureReads(client: LoadClient, empty: LoadClient): Promise<void> {
  const gets = 20_000;
  const get = (target: LoadClient) => (index: number) =>
    target.unary(MachineService.method.getMachine, { machineId: `bench-${index % size}` });
  await perSecond(2_000, 64, get(empty));
  const nothing = await perSecond(gets, 64, get(empty));
  await perSecond(2_000, 64, get(client));
  const machines = await perSecond(gets, 64, get(client));
  show('an empty grpc-js handler', `${rounded(nothing)}/s`);
  show('GetMachine', `${rounded(machines)}/s   ${ratio(machines, nothing)} of the empty handler`);
}

async function measureLists(client: LoadClient, databaseUrl: string): Promise<void> {
  let filled = 0;
  const p99s: number[] = [];
  for (const fleet of fleets) {
    await fill(databaseUrl, filled, fleet);
    filled = fleet;
    p99s.push(await measureList(client, fleet));
  }
  show('ListMachines p99, 100,000 against 10,000 machines', ratio(p99s[1] ?? 0, p99s[0] ?? 1));
}

/** Returns the p99 of a page. */
async function measureList(client: LoadClient, fleet: number): Promise<number> {
  let pageToken = '';
  const page = async () => {
    const answer = await client.unary(MachineService.method.listMachines, { pageSize: 100, pageToken });
    pageToken = answer.nextPageToken;
  };
  await latencies(50, page);
  const plain = await latencies(500, page);
  const filtered = await latencies(200, () =>
    client.unary(MachineService.method.listMachines, {
      filter: 'effective_state=ATTENTION AND labels.env=prod',
    }),
  );
  show(
    `ListMachines, page of 100, ${rounded(fleet)} machines`,
    `p50 ${plain.p50.toFixed(1)} ms, p99 ${plain.p99.toFixed(1)} ms`,
  );
  show(
    `  with a filter that few match`,
    `p50 ${filtered.p50.toFixed(1)} ms, p99 ${filtered.p99.toFixed(1)} ms`,
  );
  return plain.p99;
}

async function stopChildren(): Promise<void> {
  for (const child of children) {
    child.removeAllListeners('exit');
    child.kill('SIGTERM');
    if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
  }
}

async function main(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'ingot-bench-'));
  const postgres = await startEmbeddedPostgres({ dataDir, databases: 'any' });
  try {
    const server = await startChild('serve.js', { DATABASE_URL: postgres.url, INGOT_DATA_DIR: dataDir });
    const token = readFileSync(server.tokenFile ?? '', 'utf8').trim();
    const client = new LoadClient(`127.0.0.1:${server.grpcPort}`, token);
    const raw = await rawInserts(postgres.url);
    show('PostgreSQL alone: inserts of the same row, one a statement', `${rounded(raw)}/s`);
    await registerMachines(client);
    const finished = await measureOperations(client, raw);
    await measureReboots(client, raw);
    await measureWatcher(client, finished);
    const empty = await startChild('empty-server.js');
    const emptyClient = new LoadClient(`127.0.0.1:${empty.grpcPort}`, token);
    await measureReads(client, emptyClient);
    await measureLists(client, postgres.url);
    client.close();
    emptyClient.close();
  } finally {
    await stopChildren();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

await main();
