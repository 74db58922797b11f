/**
 * The crash test. Several replicas, which are real processes, share a PostgreSQL of their own; clients start
 * operations through gRPC; meanwhile faults happen to the replicas and the database. When it is over, everything is
 * read and checked. Which choices are made follows from the seed; how the processes interleave does not.
 */
import { packageVersion } from '../../src/package-root.ts';
import { migrate } from '../../src/store/schema/migrate.ts';
import { readApiFacts } from './api-facts.ts';
import { type CheckName, runChecks } from './checks.ts';
import { Endings } from './endings.ts';
import { countToldChanges, type Evidence, readJournals, readStoredEvidence } from './evidence.ts';
import { type FaultCounts, FaultInjector, planFaults } from './faults.ts';
import { PatientClient } from './patient-client.ts';
import { ReplicaSet } from './replica-set.ts';
import { RestartablePostgres } from './restartable-postgres.ts';
import { seededRandom } from './seeded-random.ts';
import { isTakeover } from './stale-writes.ts';
import { StormDatabase } from './storm-database.ts';
import { Watcher } from './watcher.ts';
import { Workload } from './workload.ts';
import { keepWriteHistory } from './write-history.ts';

export interface StormOptions {
  /** Everything is kept in here; the caller makes it and removes it. */
  readonly folder: string;
  readonly seed: number;
  readonly replicas: number;
  readonly machines: number;
  readonly operations: number;
  readonly faults: FaultCounts;
  readonly leaseMs: number;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly ended: number;
  readonly kills: number;
  readonly freezes: number;
  readonly databaseRestarts: number;
}

export interface Figures {
  readonly seed: number;
  readonly operations: number;
  readonly machines: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly failuresByCode: Readonly<Record<string, number>>;
  readonly retriedSteps: number;
  readonly cancels: number;
  readonly refusedStarts: number;
  readonly unansweredCalls: Readonly<Record<string, number>>;
  readonly replicasStarted: number;
  readonly kills: Readonly<Record<string, number>>;
  readonly freezes: Readonly<Record<string, number>>;
  readonly handovers: number;
  readonly databaseRestarts: number;
  /** Claims of operations whose holder had died, or had let its lease expire. */
  readonly takeovers: number;
  /** How often the watcher was cut off and went on elsewhere. */
  readonly resumedWatches: number;
  readonly seconds: number;
}

export interface StormResult {
  readonly figures: Figures;
  readonly findings: Readonly<Record<CheckName, readonly string[]>>;
}

/** Longer than every retry, lease and poll interval of a healthy run. */
const STALL_MS = 90_000;
const PROGRESS_MS = 250;

export async function runStorm(options: StormOptions): Promise<StormResult> {
  const cleanups: Array<() => Promise<void>> = [];
  try {
    const postgres = await RestartablePostgres.start(options.folder);
    cleanups.push(() => postgres.stop());
    await migrate(postgres.url, { version: packageVersion() });
    const database = new StormDatabase(postgres.url, () => postgres.whenUp());
    cleanups.push(() => database.close());
    await keepWriteHistory(database);
    const replicas = new ReplicaSet({
      folder: options.folder,
      databaseUrl: postgres.url,
      size: options.replicas,
      leaseMs: options.leaseMs,
      whenDatabaseIsUp: () => postgres.whenUp(),
    });
    cleanups.push(() => replicas.kill());
    return await rage(options, { postgres, database, replicas });
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

interface Stage {
  readonly postgres: RestartablePostgres;
  readonly database: StormDatabase;
  readonly replicas: ReplicaSet;
}

async function rage(options: StormOptions, stage: Stage): Promise<StormResult> {
  const startedAt = performance.now();
  const { database, replicas } = stage;
  const random = seededRandom(options.seed);
  const endings = new Endings(database, STALL_MS);
  const client = new PatientClient(replicas, endings.stalled);
  const workload = new Workload({ client, endings, random }, options);
  const injector = new FaultInjector({
    ...stage,
    random: random.branch('faults'),
    progress: () => endings.count / options.operations,
    over: endings.stalled,
  });
  const watcher = new Watcher(replicas, random.branch('watcher'));
  const timer = setInterval(() => options.onProgress?.(progressOf(endings, injector)), PROGRESS_MS);
  try {
    const plan = planFaults(options.faults, random.branch('plan'));
    await watcher.synced;
    await Promise.all([workload.run(), injector.run(plan)]);
    await watcher.catchUp(await countToldChanges(database));
  } finally {
    clearInterval(timer);
    await Promise.all([endings.close(), watcher.close()]);
  }
  const { api } = await replicas.anyUnharmed();
  const apiFacts = await readApiFacts(api, workload.starts);
  await replicas.terminate();
  const evidence: Evidence = {
    ...(await readStoredEvidence(database)),
    starts: workload.starts,
    received: watcher.received,
    journals: readJournals(replicas.journalFolder),
    api: apiFacts,
    unexpectedDeaths: replicas.unexpectedDeaths,
    databaseRestarts: injector.databaseRestarts,
  };
  const figures: Figures = {
    seed: options.seed,
    ...countsOf(evidence),
    cancels: workload.canceled,
    unansweredCalls: client.unanswered,
    replicasStarted: replicas.started,
    kills: injector.kills,
    freezes: injector.freezes,
    handovers: injector.handovers,
    databaseRestarts: injector.databaseRestarts,
    resumedWatches: watcher.resumed,
    seconds: (performance.now() - startedAt) / 1000,
  };
  return { figures, findings: runChecks(evidence) };
}

function countsOf({ operations, machines, starts, writes }: Evidence) {
  return {
    operations: operations.length,
    machines: machines.length,
    byStatus: tally(operations.map(({ status }) => status)),
    failuresByCode: tally(operations.flatMap(({ errorCode }) => errorCode ?? [])),
    retriedSteps: operations.flatMap(({ steps }) => steps.filter(({ attempts }) => attempts > 1)).length,
    refusedStarts: starts.filter(({ operationId }) => operationId === null).length,
    takeovers: writes.filter(isTakeover).length,
  };
}

function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

export function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function progressOf(endings: Endings, injector: FaultInjector): Progress {
  return {
    ended: endings.count,
    kills: total(injector.kills),
    freezes: total(injector.freezes),
    databaseRestarts: injector.databaseRestarts,
  };
}
