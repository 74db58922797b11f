/**
 * What `npm run bench:waiting` prints: what very many operations under way cost one replica. An operation that waits is a row; the
 * server's memory must not grow with their number. Some are started by calls; the others are copies of one of them, in SQL, because
 * calls for all would take longer than what is measured. Each is due again within ten minutes, so that the server claims, probes and
 * releases them all the time.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { FleetService } from '../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { MachineService } from '../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../src/gen/baremetal/v2/operation_service_pb.ts';
import { sleep } from '../src/time/sleep.ts';
import { latencies, perSecond } from './measure.ts';
import { cpuSeconds, residentMB } from './processor-time.ts';
import { ArgumentError, argumentsOrExit, countOf } from './rig/arguments.ts';
import { thisBuild } from './rig/build-commit.ts';
import { type Cleanup, runWithCleanup } from './rig/cleanup.ts';
import { rounded } from './rig/figures.ts';
import { type Subject, startSubject } from './rig/subject.ts';

const USAGE = `npm run bench:waiting -- [options]
  --operations <n>   operations under way on one replica (default 100000)
  --started <n>      of them by calls, the others in SQL (default 2000)
  --seconds <n>      for how long they are watched while they wait (default 30)
  --json             figures for machines
ends with 1 when the server needs 300 MB or more`;

const MOST_MB = 300;
const CALLS_AT_ONCE = 256;
const BATCH = 50_000;
const LONGEST_WAIT_MS = 1_200_000;
const SAMPLE_MS = 200;

interface WaitingArguments {
  readonly operations: number;
  readonly started: number;
  readonly seconds: number;
  readonly form: 'text' | 'json';
}

function readWaitingArguments(argv: readonly string[]): WaitingArguments {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        operations: { type: 'string', default: '100000' },
        started: { type: 'string', default: '2000' },
        seconds: { type: 'string', default: '30' },
        json: { type: 'boolean', default: false },
      },
    });
    const operations = countOf('--operations', values.operations);
    return {
      operations,
      started: Math.min(operations, countOf('--started', values.started)),
      seconds: countOf('--seconds', values.seconds),
      form: values.json ? 'json' : 'text',
    };
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
}

const machineIdOf = (index: number) => `waiting-${index}`;

/** Machines whose reboot takes hours. */
async function fill({ sql }: Subject, count: number): Promise<void> {
  for (let from = 0; from < count; from += BATCH)
    await sql.query(
      `INSERT INTO machines (machine_id, labels, spec, phase)
       SELECT 'waiting-' || i, '{"fake/step-ms": "86400000"}', jsonb_build_object('ssh_endpoint', '', 'bmc_endpoint', '',
         'target_cluster_ref', '', 'mac_addresses', '[]'::jsonb, 'provider', 'fake'), 'READY'
       FROM generate_series($1::int, $2::int) i`,
      [from, Math.min(from + BATCH, count) - 1],
    );
  await sql.query('VACUUM ANALYZE machines');
}

const COPIES = [
  `INSERT INTO operations SELECT (jsonb_populate_record(o, jsonb_build_object('operation_id', left(o.operation_id, 3) ||
     lpad(i::text, 26, '0'), 'machine_id', 'waiting-' || i, 'due_at', now() + random() * interval '10 minutes'))).*
   FROM generate_series($1::int, $2::int) i, operations o WHERE o.machine_id = 'waiting-0'`,
  `INSERT INTO fake_machines SELECT 'waiting-' || i, state
   FROM generate_series($1::int, $2::int) i, fake_machines WHERE machine_id = 'waiting-0'`,
  `UPDATE machines m SET active_operation_id = o.operation_id FROM operations o
   WHERE o.machine_id = m.machine_id AND o.machine_id IN (SELECT 'waiting-' || i FROM generate_series($1::int, $2::int) i)`,
];

/** As if they had been started like the first one. The server sees each with its machine, or not at all. */
async function copyFirst({ sql }: Subject, from: number, to: number): Promise<void> {
  const client = await sql.connect();
  try {
    for (let start = from; start < to; start += BATCH) {
      await client.query('BEGIN');
      for (const copy of COPIES) await client.query(copy, [start, Math.min(start + BATCH, to) - 1]);
      await client.query('COMMIT');
    }
    await client.query('VACUUM ANALYZE machines, operations, fake_machines');
  } finally {
    client.release();
  }
}

/** The largest of what a process uses while the work runs. */
async function peakMB(pid: number, work: () => Promise<unknown>): Promise<number> {
  let most = residentMB(pid);
  const timer = setInterval(() => {
    most = Math.max(most, residentMB(pid));
  }, SAMPLE_MS);
  try {
    await work();
    return Math.max(most, residentMB(pid));
  } finally {
    clearInterval(timer);
  }
}

/** Until each of them is under way and no process holds it. */
async function untilWaiting({ sql }: Subject, count: number): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    const { rows } = await sql.query<{ waiting: number }>(
      `SELECT count(*)::int AS waiting FROM operations WHERE status = 'running' AND owner IS NULL AND waiting_for <> ''`,
    );
    // A few are always in hand: each is probed from time to time.
    if ((rows[0]?.waiting ?? 0) >= Math.floor(count * 0.99)) return;
    if (performance.now() - startedAt > LONGEST_WAIT_MS)
      throw new Error(`only ${rows[0]?.waiting} of ${count} operations wait`);
    await sleep(500);
  }
}

/** What an open console asks for, each second. */
async function askAsConsole({ client }: Subject, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await client.bytes(FleetService.method.getOverview, {});
    await client.bytes(OperationService.method.listOperations, { filter: 'phase=RUNNING', pageSize: 100 });
    await sleep(1_000);
  }
}

async function main(args: WaitingArguments, cleanup: Cleanup): Promise<void> {
  const subject = await startSubject({ build: thisBuild(), cleanup });
  const { server, client } = subject;
  await fill(subject, args.operations);
  const before = residentMB(server.pid);
  const startedAt = performance.now();
  const whileStarting = await peakMB(server.pid, async () => {
    await perSecond(args.started, CALLS_AT_ONCE, (index) =>
      client.unary(MachineService.method.rebootMachine, {
        machineId: machineIdOf(index),
        requestId: 'waiting',
      }),
    );
    await untilWaiting(subject, args.started);
  });
  const perSecondStarted = args.started / ((performance.now() - startedAt) / 1000);
  await copyFirst(subject, args.started, args.operations);
  const cpuBefore = cpuSeconds(server.pid, 'alone');
  const whileWaiting = await peakMB(server.pid, () => askAsConsole(subject, args.seconds));
  const cpu = (cpuSeconds(server.pid, 'alone') - cpuBefore) / args.seconds;
  const reads = await latencies(200, (index) =>
    client.unary(MachineService.method.getMachine, { machineId: machineIdOf(index) }),
  );
  const { heapUsed, handles } = await server.vitals();
  const most = Math.max(whileStarting, whileWaiting);
  const verdict = most < MOST_MB ? 'reached' : 'not reached';
  if (verdict === 'not reached') process.exitCode = 1;
  const figures = { before, whileStarting, whileWaiting, heapMB: heapUsed / 2 ** 20, handles, cpu, reads };
  if (args.form === 'json') {
    console.log(
      JSON.stringify({ operations: args.operations, ...figures, verdict, load: loadavg()[0] }, null, 2),
    );
    return;
  }
  const show = (what: string, value: string) => console.log(`${what.padEnd(66)} ${value}`);
  show(
    `operations under way, ${rounded(args.started)} of them by calls`,
    `${rounded(args.operations)}, ${rounded(perSecondStarted)}/s`,
  );
  show('memory of the server before', `${rounded(before)} MB`);
  show(`  at most while ${rounded(args.started)} start`, `${rounded(whileStarting)} MB`);
  show(`  at most while all wait and a console asks, ${args.seconds} s`, `${rounded(whileWaiting)} MB`);
  show('  heap in use; handles', `${rounded(figures.heapMB)} MB; ${handles}`);
  show('CPU of the server while they wait', `${(cpu * 100).toFixed(0)} % of one core`);
  show('GetMachine meanwhile', `p50 ${reads.p50.toFixed(1)} ms, p99 ${reads.p99.toFixed(1)} ms`);
  show(`goal: below ${MOST_MB} MB`, verdict);
  console.log(`load of the machine: ${loadavg()[0]}`);
}

const args = argumentsOrExit(USAGE, readWaitingArguments);
await runWithCleanup((cleanup) => main(args, cleanup));
