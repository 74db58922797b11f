/**
 * One fault under work: replicas that are real processes, machines that each have an operation under way, agents that send
 * keepalives and a watcher. The fault strikes, the work goes on for a while and ends; then everything is read and checked
 * as after a storm (../chaos/checks.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { packageVersion } from '../../src/package-root.ts';
import { migrate } from '../../src/store/schema/migrate.ts';
import { readApiFacts } from '../chaos/api-facts.ts';
import { CHECKS, type CheckName, runChecks } from '../chaos/checks.ts';
import { Endings } from '../chaos/endings.ts';
import { countToldChanges, type Evidence, readJournals, readStoredEvidence } from '../chaos/evidence.ts';
import { PatientClient } from '../chaos/patient-client.ts';
import { ReplicaSet } from '../chaos/replica-set.ts';
import { seededRandom } from '../chaos/seeded-random.ts';
import type { Rows } from '../chaos/storm-database.ts';
import { Watcher } from '../chaos/watcher.ts';
import { keepWriteHistory } from '../chaos/write-history.ts';
import { AgentWork } from './agent-work.ts';
import type { FaultResult } from './fault-result.ts';
import { FleetWork } from './fleet-work.ts';

export interface FaultOptions {
  readonly fault: string;
  /** Everything is kept in here; the caller makes it and removes it. */
  readonly folder: string;
  /** For the migration. */
  readonly url: string;
  /** Of each replica, where that is another. */
  readonly urlOf?: (slot: number) => string;
  readonly database: Rows;
  readonly replicas: number;
  readonly machines: number;
  readonly stepMs: number;
  readonly agents: number;
  readonly leaseMs: number;
  /** Does its harm and undoes it; returns the seconds that everything took to move again. */
  readonly strike: (stage: FaultStage) => Promise<number>;
}

export interface FaultStage {
  readonly replicas: ReplicaSet;
  readonly client: PatientClient;
  readonly agents: AgentWork;
  readonly database: Rows;
  /** What is under way now; for `untilMoved`. */
  underWay(): Promise<UnderWay>;
  /** Until each of those has been claimed again, or has ended. */
  untilMoved(before: UnderWay): Promise<void>;
  /** A promise that did not hold. */
  problem(words: string): void;
}

/** Epochs by operation. */
export type UnderWay = ReadonlyMap<string, number>;

/** Nothing ends for so long: the work is stuck. */
const STALL_MS = 180_000;
/** Which checks find something that was done twice. */
const DOUBLED: readonly CheckName[] = [
  'no step completes twice',
  'every operation ends once',
  'never two active operations on a machine',
  'a woken zombie writes nothing',
  'a woken zombie begins no effect',
  'no effect lands after one of a later holder',
  'machines agree with their operations',
];
const LOST: readonly CheckName[] = ['no operation is lost', 'no operation is stuck'];

export async function runFault(options: FaultOptions): Promise<FaultResult> {
  await migrate(options.url, { version: packageVersion() });
  await keepWriteHistory(options.database);
  const replicas = new ReplicaSet({
    folder: options.folder,
    databaseUrl: options.urlOf ?? options.url,
    size: options.replicas,
    leaseMs: options.leaseMs,
    whenDatabaseIsUp: async () => {},
  });
  try {
    return await new FaultRun(options, replicas).run();
  } finally {
    await replicas.kill();
  }
}

class FaultRun {
  readonly #options: FaultOptions;
  readonly #replicas: ReplicaSet;
  readonly #endings: Endings;
  readonly #client: PatientClient;
  readonly #fleet: FleetWork;
  readonly #agents: AgentWork;
  readonly #watcher: Watcher;
  readonly #problems: string[] = [];

  constructor(options: FaultOptions, replicas: ReplicaSet) {
    const random = seededRandom(1);
    this.#options = options;
    this.#replicas = replicas;
    this.#endings = new Endings(options.database, STALL_MS);
    this.#client = new PatientClient(replicas, this.#endings.stalled);
    this.#fleet = new FleetWork(
      { client: this.#client, endings: this.#endings, random: random.branch('fleet') },
      options,
    );
    this.#agents = new AgentWork(replicas, this.#client, random.branch('agents'));
    this.#watcher = new Watcher(replicas, random.branch('watcher'));
  }

  async run(): Promise<FaultResult> {
    try {
      await this.#watcher.synced;
      await this.#fleet.prepare();
      await this.#agents.prepare(this.#options.agents);
      const recoverySeconds = await this.#struck();
      await this.#watcher.catchUp(await countToldChanges(this.#options.database));
      return await this.#result(recoverySeconds);
    } finally {
      await Promise.all([this.#endings.close(), this.#watcher.close()]);
    }
  }

  async #struck(): Promise<number> {
    const work = Promise.all([this.#fleet.run(), this.#agents.run()]);
    // Work that can't go on ends the wait for the fault; the work itself is waited for below.
    const broken = work.then(() => Promise.reject(new Error('the work ended before the fault was over')));
    broken.catch(() => {});
    try {
      return await Promise.race([this.#afterAllStarted(), broken]);
    } finally {
      this.#fleet.stop();
      this.#agents.stop();
      await work;
    }
  }

  async #afterAllStarted(): Promise<number> {
    while ((await this.#underWay()).size < this.#options.machines * 0.95) await sleep(100);
    return this.#options.strike({
      replicas: this.#replicas,
      client: this.#client,
      agents: this.#agents,
      database: this.#options.database,
      underWay: () => this.#underWay(),
      untilMoved: (before) => this.#untilMoved(before),
      problem: (words) => this.#problems.push(words),
    });
  }

  async #underWay(): Promise<UnderWay> {
    const rows = await this.#options.database.rows<{ id: string; epoch: number }>(
      `SELECT operation_id AS id, epoch::float8 FROM operations WHERE status IN ('pending', 'running', 'compensating')`,
    );
    return new Map(rows.map(({ id, epoch }) => [id, epoch]));
  }

  async #untilMoved(before: UnderWay): Promise<void> {
    for (;;) {
      this.#endings.stalled.throwIfAborted();
      const now = await this.#underWay();
      const stuck = [...before].filter(([id, epoch]) => now.get(id) === epoch);
      if (stuck.length === 0) return;
      await sleep(100);
    }
  }

  async #result(recoverySeconds: number): Promise<FaultResult> {
    const { database, fault } = this.#options;
    const { api } = await this.#replicas.anyUnharmed();
    const apiFacts = await readApiFacts(api, this.#fleet.starts);
    const missing = await this.#agents.missing(database, 'all');
    await this.#replicas.terminate();
    const evidence: Evidence = {
      ...(await readStoredEvidence(database)),
      starts: this.#fleet.starts,
      received: this.#watcher.received,
      journals: readJournals(this.#replicas.journalFolder),
      api: apiFacts,
      unexpectedDeaths: this.#replicas.unexpectedDeaths,
      databaseRestarts: 0,
    };
    const findings = runChecks(evidence);
    const count = (names: readonly CheckName[]) =>
      names.reduce((sum, name) => sum + findings[name].length, 0);
    const { INTERNAL: internal = 0, UNKNOWN: unknown = 0 } = this.#client.unanswered;
    if (internal + unknown > 0)
      this.#problems.push(`${internal + unknown} calls were answered with an internal error`);
    const names = Object.keys(CHECKS) as CheckName[];
    return {
      fault,
      accepted: evidence.starts.filter(({ operationId }) => operationId !== null).length,
      lost: count(LOST) + missing.length,
      doubled: count(DOUBLED),
      needingHuman: evidence.operations.filter(({ status }) => status.startsWith('failed')).length,
      recoverySeconds,
      problems: [
        ...this.#problems,
        ...this.#agents.problems,
        ...missing,
        ...names.flatMap((name) => findings[name].map((finding) => `${name}: ${finding}`)),
      ],
    };
  }
}

export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}
