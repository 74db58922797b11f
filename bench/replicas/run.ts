/**
 * What `npm run bench:replicas` prints. All replicas run all the time, and calls go to one, two or four of them alternately. A process that was just
 * started is slower than one that has compiled its code, by more than what is measured, and one of four gets a quarter of the calls of one: so each
 * replica carries as many operations alone before the first round.
 */
import { mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fillFleet, requestOf } from '../agents/fleet.ts';
import { LoadClient } from '../client.ts';
import { enterMaintenanceOn, registerOn } from '../parts/operations.ts';
import { argumentsOrExit } from '../rig/arguments.ts';
import { thisBuild } from '../rig/build-commit.ts';
import { type Cleanup, runWithCleanup } from '../rig/cleanup.ts';
import { median, rounded, spread } from '../rig/figures.ts';
import { httpPerSecond } from '../rig/http-load.ts';
import { ServerProcess } from '../rig/server-process.ts';
import { type BenchPostgres, startPostgres, temporaryDir } from '../rig/subject.ts';
import { type ReplicaArguments, readReplicaArguments, USAGE } from './arguments.ts';
import { operationsPerTurn, untilSealed, type Writers, watchWriters } from './writers.ts';

const CONNECTIONS = 256;
const AGENTS = 5_000;
/** Below this, more replicas are slower and not only as fast. */
const SLOWER = 0.9;

interface Commit {
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
}

interface Replica {
  readonly server: ServerProcess;
  readonly client: LoadClient;
}

interface Round {
  readonly operations: number;
  readonly keepalives: number;
  readonly perTurn: number;
  readonly writers: Writers;
}

interface ReplicaRow {
  readonly commits: string;
  readonly replicas: number;
  readonly operations: ReturnType<typeof spread>;
  readonly keepalives: ReturnType<typeof spread>;
  readonly operationsOfOne: number;
  readonly keepalivesOfOne: number;
  readonly operationsPerTurn: number;
  readonly waitingForTurn: number;
  readonly flushing: number;
  readonly verdict: 'not slower' | 'slower';
}

class Site {
  readonly #postgres: BenchPostgres;
  readonly #dir: string;
  readonly #cleanup: Cleanup;
  readonly #replicas: Replica[] = [];
  #round = 0;

  constructor(postgres: BenchPostgres, dir: string, cleanup: Cleanup) {
    this.#postgres = postgres;
    this.#dir = dir;
    this.#cleanup = cleanup;
  }

  async start(count: number): Promise<void> {
    while (this.#replicas.length < count) {
      const dataDir = join(this.#dir, `replica-${this.#replicas.length}`);
      mkdirSync(dataDir);
      const options = { build: thisBuild(), databaseUrl: this.#postgres.url, dataDir };
      const server = await ServerProcess.start({ ...options, cleanup: this.#cleanup });
      const client = new LoadClient(server.grpcAddress, server.token);
      this.#cleanup.add(() => client.close());
      this.#replicas.push({ server, client });
    }
  }

  async stop(): Promise<void> {
    for (const { server, client } of this.#replicas.splice(0)) {
      client.close();
      await server.stop();
    }
  }

  /** Each of them alone. */
  async warm(count: number): Promise<void> {
    for (const replica of this.#replicas) {
      const prefix = this.#nextPrefix();
      await registerOn([replica.client], prefix, count);
      await enterMaintenanceOn([replica.client], prefix, count);
      await keepalivesPerSecond([replica], count);
    }
  }

  /** With calls to so many of them. */
  async measure(count: number, { operations, keepalives }: ReplicaArguments): Promise<Round> {
    const { sql } = this.#postgres;
    const prefix = this.#nextPrefix();
    const called = this.#replicas.slice(0, count);
    const clients = called.map(({ client }) => client);
    await registerOn(clients, prefix, operations);
    await untilSealed(sql);
    const { result, writers } = await watchWriters(sql, () =>
      enterMaintenanceOn(clients, prefix, operations),
    );
    await untilSealed(sql);
    return {
      operations: result,
      keepalives: await keepalivesPerSecond(called, keepalives),
      perTurn: await operationsPerTurn(sql, prefix),
      writers,
    };
  }

  #nextPrefix(): string {
    this.#round += 1;
    return `replicas-${this.#round}`;
  }
}

async function keepalivesPerSecond(called: readonly Replica[], count: number): Promise<number> {
  const each = Math.ceil(count / called.length);
  const startedAt = performance.now();
  await Promise.all(
    called.map(({ server }, at) =>
      httpPerSecond({
        port: server.httpPort,
        connections: Math.max(1, Math.floor(CONNECTIONS / called.length)),
        count: each,
        request: (index) => requestOf((at * each + index) % AGENTS),
      }),
    ),
  );
  return (each * called.length) / ((performance.now() - startedAt) / 1000);
}

async function measureCommit(
  commit: Commit,
  args: ReplicaArguments,
  progress: (line: string) => void,
  cleanup: Cleanup,
): Promise<ReplicaRow[]> {
  const dir = temporaryDir('replicas', cleanup);
  const postgres = await startPostgres(dir, cleanup, commit.settings);
  const site = new Site(postgres, dir, cleanup);
  await site.start(Math.max(...args.replicas));
  await fillFleet(postgres.url, AGENTS);
  const rounds = new Map<number, Round[]>(args.replicas.map((count) => [count, []]));
  progress(`${commit.name}, warming up`);
  await site.warm(args.warm);
  for (let round = 0; round < args.rounds; round += 1)
    for (const count of rotated(args.replicas, round)) {
      progress(`${commit.name}, ${count} replicas, round ${round + 1} of ${args.rounds}`);
      rounds.get(count)?.push(await site.measure(count, args));
    }
  await site.stop();
  const one = rounds.get(args.replicas[0] ?? 1) ?? [];
  return args.replicas.map((count) => rowOf(commit.name, count, rounds.get(count) ?? [], one));
}

/** None is always the first. */
function rotated(counts: readonly number[], by: number): number[] {
  const at = by % counts.length;
  return [...counts.slice(at), ...counts.slice(0, at)];
}

function rowOf(
  commits: string,
  replicas: number,
  rounds: readonly Round[],
  one: readonly Round[],
): ReplicaRow {
  const ofOne = (of: (round: Round) => number) =>
    median(rounds.map((round, at) => of(round) / of(one[at] ?? round)));
  const mean = (of: (writers: Writers) => number) => median(rounds.map(({ writers }) => of(writers)));
  const operationsOfOne = ofOne((round) => round.operations);
  const keepalivesOfOne = ofOne((round) => round.keepalives);
  return {
    commits,
    replicas,
    operations: spread(rounds.map((round) => round.operations)),
    keepalives: spread(rounds.map((round) => round.keepalives)),
    operationsOfOne,
    keepalivesOfOne,
    operationsPerTurn: median(rounds.map(({ perTurn }) => perTurn)),
    waitingForTurn: mean((writers) => writers.waitingForTurn),
    flushing: mean((writers) => writers.flushing),
    verdict: Math.min(operationsOfOne, keepalivesOfOne) < SLOWER ? 'slower' : 'not slower',
  };
}

function showReplicas(row: ReplicaRow): string[] {
  const range = ({ median: middle, least, most }: ReplicaRow['operations']) =>
    `${rounded(middle)}/s (${rounded(least)} to ${rounded(most)})`;
  const show = (what: string, value: string) => `  ${what.padEnd(58)} ${value}`;
  return [
    `${row.replicas} replica${row.replicas === 1 ? '' : 's'}, ${row.commits}: ${row.verdict}`,
    show('operations, of one replica', `${row.operationsOfOne.toFixed(2)}, ${range(row.operations)}`),
    show('keepalives, of one replica', `${row.keepalivesOfOne.toFixed(2)}, ${range(row.keepalives)}`),
    show('operations that start in one transaction', row.operationsPerTurn.toFixed(1)),
    show(
      'writers that wait for the event lock; for the flush',
      `${row.waitingForTurn.toFixed(2)}; ${row.flushing.toFixed(2)}`,
    ),
  ];
}

async function main(args: ReplicaArguments, cleanup: Cleanup): Promise<void> {
  const progress = (line: string) => (args.form === 'text' ? console.error(line) : undefined);
  const commits: readonly Commit[] = [
    { name: 'commits as fast as the disk', settings: {} },
    {
      name: `${args.commitMs} ms added to each commit`,
      settings: { commit_delay: String(args.commitMs * 1_000), commit_siblings: '0' },
    },
  ];
  const load = loadavg()[0] ?? 0;
  const rows: ReplicaRow[] = [];
  for (const commit of commits) {
    const measured = await measureCommit(commit, args, progress, cleanup);
    rows.push(...measured);
    if (args.form === 'text')
      for (const row of measured) for (const line of showReplicas(row)) console.log(line);
  }
  if (rows.some(({ verdict }) => verdict === 'slower')) process.exitCode = 1;
  if (args.form === 'json') {
    console.log(JSON.stringify({ args, load: { before: load, after: loadavg()[0] }, rows }, null, 2));
    return;
  }
  console.log(`load of the machine before and after: ${load}, ${loadavg()[0]}`);
}

const args = argumentsOrExit(USAGE, readReplicaArguments);
await runWithCleanup((cleanup) => main(args, cleanup));
