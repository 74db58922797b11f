/**
 * What `npm run bench:bmcs` prints: what it costs one replica to probe thousands of BMCs over Redfish, each once an interval. The BMCs are
 * simulated in one process of their own, with TLS and sessions; that they share the processors with the server is part of every figure,
 * so the verdict is of a share and a count, never of a time.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type pg from 'pg';
import { sleep } from '../../src/time/sleep.ts';
import { cpuSeconds, residentMB } from '../processor-time.ts';
import { ArgumentError, argumentsOrExit, countOf } from '../rig/arguments.ts';
import { thisBuild } from '../rig/build-commit.ts';
import { type Cleanup, runWithCleanup } from '../rig/cleanup.ts';
import { rounded } from '../rig/figures.ts';
import { ServerProcess } from '../rig/server-process.ts';
import { startPostgres, temporaryDir } from '../rig/subject.ts';
import type { ProbeReport, SimulatorsReady } from './simulators.ts';

const USAGE = `npm run bench:bmcs -- [options]
  --bmcs <n>          simulated BMCs (default 5000)
  --interval <s>      each is probed once in this time (default 60)
  --concurrency <n>   probes at the same time (default 64)
  --intervals <n>     for how many of them is measured, after one and a half of them (default 2)
  --json              figures for machines
ends with 1 when fewer than 99 % are probed within the interval, or when more sockets are open than probes make in 6 s`;

interface BmcArguments {
  readonly bmcs: number;
  readonly interval: number;
  readonly concurrency: number;
  readonly intervals: number;
  readonly form: 'text' | 'json';
}

function readBmcArguments(argv: readonly string[]): BmcArguments {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        bmcs: { type: 'string', default: '5000' },
        interval: { type: 'string', default: '60' },
        concurrency: { type: 'string', default: '64' },
        intervals: { type: 'string', default: '2' },
        json: { type: 'boolean', default: false },
      },
    });
    return {
      bmcs: countOf('--bmcs', values.bmcs),
      interval: countOf('--interval', values.interval),
      concurrency: countOf('--concurrency', values.concurrency),
      intervals: countOf('--intervals', values.intervals),
      form: values.json ? 'json' : 'text',
    };
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
}

/** Probes are spread over the interval, and each may be a little late. */
const IN_TIME = 1.1;
const LEAST_SHARE = 0.99;
/** A connection stays open for 5 s after its last request; a second is for what is under way. */
const SOCKET_SECONDS = 6;
const SAMPLE_MS = 200;

async function startSimulators(count: number, cleanup: Cleanup) {
  const script = new URL('simulators.js', import.meta.url);
  const child = fork(script, [String(count)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  cleanup.add(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.disconnect();
    await once(child, 'exit');
  });
  return { child, ready: await answerOf<SimulatorsReady>(child) };
}

async function answerOf<Answer>(child: ChildProcess): Promise<Answer> {
  const gone = once(child, 'exit').then(() => Promise.reject(new Error('the simulators exited')));
  gone.catch(() => {});
  const [answer] = (await Promise.race([once(child, 'message'), gone])) as [Answer];
  return answer;
}

function report(child: ChildProcess): Promise<ProbeReport> {
  const answer = answerOf<ProbeReport>(child);
  child.send('report');
  return answer;
}

function configurationOf(dir: string, args: BmcArguments, { user, password, caFile }: SimulatorsReady) {
  const [passwordFile, keyFile] = [join(dir, 'password'), join(dir, 'key')];
  writeFileSync(passwordFile, `${password}\n`);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs1', format: 'pem' }));
  return {
    looks: { interval_seconds: args.interval, concurrency: args.concurrency },
    sensors: { enabled: false },
    providers: {
      dc: {
        kind: 'datacenter',
        ssh: { user: 'root', private_key_file: keyFile, insecure_accept_any: true },
        bmc: { user, password_file: passwordFile, redfish: { ca_file: caFile } },
      },
    },
  };
}

async function insertMachines(sql: pg.Pool, urls: readonly string[]): Promise<void> {
  await sql.query(
    `INSERT INTO machines (machine_id, labels, spec, phase)
     SELECT 'bmc-' || place, '{}', jsonb_build_object('ssh_endpoint', '', 'bmc_endpoint', url, 'target_cluster_ref', '',
       'mac_addresses', '[]'::jsonb, 'provider', 'dc'), 'READY'
     FROM unnest($1::text[]) WITH ORDINALITY AS u(url, place)`,
    [urls],
  );
  await sql.query('VACUUM ANALYZE machines');
}

function openSockets(pid: number): number {
  const dir = `/proc/${pid}/fd`;
  return readdirSync(dir).filter((name) => {
    try {
      return readlinkSync(join(dir, name)).startsWith('socket:');
    } catch {
      // Closed since the folder was read.
      return false;
    }
  }).length;
}

/** The most of both while the work runs. */
async function peaks(pid: number, work: () => Promise<unknown>): Promise<{ sockets: number; MB: number }> {
  let [sockets, MB] = [0, 0];
  const timer = setInterval(() => {
    sockets = Math.max(sockets, openSockets(pid));
    MB = Math.max(MB, residentMB(pid));
  }, SAMPLE_MS);
  try {
    await work();
    return { sockets, MB };
  } finally {
    clearInterval(timer);
  }
}

/** Of the BMCs, those that never waited longer than the interval for a probe. */
function shareInTime(probes: ProbeReport['probes'], windowMs: number, intervalMs: number): number {
  const inTime = probes.filter((times) => {
    const points = [0, ...times, windowMs];
    return points.every((at, index) => index === 0 || at - (points[index - 1] ?? 0) <= intervalMs * IN_TIME);
  });
  return inTime.length / probes.length;
}

async function measured(args: BmcArguments, cleanup: Cleanup) {
  const dir = temporaryDir('bench-bmcs', cleanup);
  const { child, ready } = await startSimulators(args.bmcs, cleanup);
  const postgres = await startPostgres(dir, cleanup);
  const configuration = configurationOf(dir, args, ready);
  const options = { build: thisBuild(), databaseUrl: postgres.url, dataDir: dir, configuration, cleanup };
  const server = await ServerProcess.start(options);
  const [socketsBefore, memoryBefore] = [openSockets(server.pid), residentMB(server.pid)];
  await insertMachines(postgres.sql, ready.urls);
  const intervalMs = args.interval * 1000;
  await sleep(intervalMs * 1.5);
  await report(child);
  const cpuBefore = cpuSeconds(server.pid, 'alone');
  const startedAt = performance.now();
  const most = await peaks(server.pid, () => sleep(intervalMs * args.intervals));
  const windowMs = performance.now() - startedAt;
  const cpu = cpuSeconds(server.pid, 'alone') - cpuBefore;
  const found = await report(child);
  const probes = found.probes.reduce((sum, times) => sum + times.length, 0);
  return {
    share: shareInTime(found.probes, windowMs, intervalMs),
    probes,
    requestsPerProbe: found.requests / probes,
    logins: found.logins,
    sockets: most.sockets - socketsBefore,
    mostSockets: Math.ceil((args.bmcs / args.interval) * SOCKET_SECONDS) + args.concurrency,
    cpuMsPerProbe: (cpu * 1000) / probes,
    cpuOfOneCore: cpu / (windowMs / 1000),
    memoryBefore,
    memory: most.MB,
  };
}

async function main(args: BmcArguments, cleanup: Cleanup): Promise<void> {
  const figures = await measured(args, cleanup);
  const { share, sockets, mostSockets } = figures;
  const isReached = share >= LEAST_SHARE && sockets <= mostSockets;
  const verdict = isReached ? 'reached' : 'not reached';
  if (!isReached) process.exitCode = 1;
  if (args.form === 'json') {
    console.log(JSON.stringify({ ...args, ...figures, verdict, load: loadavg()[0] }, null, 2));
    return;
  }
  const show = (what: string, value: string) => console.log(`${what.padEnd(66)} ${value}`);
  show(
    'BMCs; interval; probes at the same time',
    `${rounded(args.bmcs)}; ${args.interval} s; ${args.concurrency}`,
  );
  show('probed within the interval', `${(share * 100).toFixed(2)} %`);
  show(
    `  in ${args.intervals} intervals`,
    `${rounded(figures.probes)} probes, ${figures.requestsPerProbe.toFixed(2)} requests each, ${rounded(figures.logins)} logins`,
  );
  show('most sockets to BMCs at once', `${rounded(sockets)} (limit ${rounded(mostSockets)})`);
  show(
    'CPU of the server for a probe',
    `${figures.cpuMsPerProbe.toFixed(1)} ms; ${(figures.cpuOfOneCore * 100).toFixed(0)} % of one core`,
  );
  show(
    'memory of the server before; at most',
    `${rounded(figures.memoryBefore)} MB; ${rounded(figures.memory)} MB`,
  );
  show(`goal: ${LEAST_SHARE * 100} % within the interval, sockets within their limit`, verdict);
  console.log(`load of the machine: ${loadavg()[0]}`);
}

const args = argumentsOrExit(USAGE, readBmcArguments);
await runWithCleanup((cleanup) => main(args, cleanup));
