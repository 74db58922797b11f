/**
 * A rollout over two real server processes that are killed every few seconds, on a PostgreSQL that is restarted, while a client
 * pauses and resumes it. What became of it is read from the event log (check-history.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Rollout_State } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { PatientClient } from '../chaos/patient-client.ts';
import { ReplicaSet } from '../chaos/replica-set.ts';
import { RestartablePostgres } from '../chaos/restartable-postgres.ts';
import { type Random, seededRandom } from '../chaos/seeded-random.ts';
import { StormDatabase } from '../chaos/storm-database.ts';
import { checkHistory, type History, type LoggedEvent } from './check-history.ts';

export interface RolloutStormOptions {
  readonly folder: string;
  readonly seed: number;
  readonly machines: number;
  readonly racks: number;
  readonly maxParallel: number;
  readonly maxInRack: number;
  /** How long the work of a machine takes. */
  readonly stepMs: number;
  readonly killEveryMs: number;
  /** After so many kills each. */
  readonly restartEvery: number;
  readonly pauseEvery: number;
  readonly onProgress?: (line: string) => void;
}

export interface RolloutStormResult extends History {
  readonly state: string;
  readonly kills: number;
  readonly restarts: number;
  readonly pauses: number;
  readonly takeovers: number;
  readonly seconds: number;
  readonly unexpectedDeaths: readonly string[];
}

const LEASE_MS = 1_500;

export async function runRolloutStorm(options: RolloutStormOptions): Promise<RolloutStormResult> {
  const postgres = await RestartablePostgres.start(`${options.folder}/postgres`);
  const whenDatabaseIsUp = () => postgres.whenUp();
  const over = new AbortController();
  const replicas = new ReplicaSet({
    folder: options.folder,
    databaseUrl: postgres.url,
    size: 2,
    leaseMs: LEASE_MS,
    whenDatabaseIsUp,
  });
  const database = new StormDatabase(postgres.url, whenDatabaseIsUp);
  try {
    await replicas.anyUnharmed();
    const storm = new RolloutStorm(options, {
      postgres,
      replicas,
      database,
      client: new PatientClient(replicas, over.signal),
    });
    return await storm.run();
  } finally {
    over.abort();
    await replicas.kill();
    await database.close();
    await postgres.stop();
  }
}

interface Parts {
  readonly postgres: RestartablePostgres;
  readonly replicas: ReplicaSet;
  readonly database: StormDatabase;
  readonly client: PatientClient;
}

class RolloutStorm {
  readonly #options: RolloutStormOptions;
  readonly #parts: Parts;
  readonly #random: Random;
  #kills = 0;
  #restarts = 0;
  #pauses = 0;

  constructor(options: RolloutStormOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#random = seededRandom(options.seed);
  }

  async run(): Promise<RolloutStormResult> {
    const startedAt = performance.now();
    await this.#addMachines();
    const rolloutId = await this.#create();
    const state = await this.#strikeUntilEnded(rolloutId);
    const { maxParallel, maxInRack } = this.#options;
    const events = await this.#parts.database.rows<LoggedEvent & Record<string, unknown>>(
      `SELECT event_id, kind, subject, from_state, to_state, machine_id, operation_id, metadata FROM events
       WHERE kind IN ('operation', 'rollout') ORDER BY event_id`,
    );
    const places = await this.#parts.database.rows<{ machineId: string; rack: string; wave: number }>(
      `SELECT m.machine_id AS "machineId", spec #>> '{location,rack}' AS rack, wave
       FROM rollout_machines r JOIN machines m USING (machine_id) WHERE rollout_id = $1`,
      [rolloutId],
    );
    const [row] = await this.#parts.database.rows<{ epoch: string }>(
      'SELECT epoch FROM rollouts WHERE rollout_id = $1',
      [rolloutId],
    );
    return {
      ...checkHistory(events, places, { rolloutId, maxParallel, maxInRack, operationsEach: 1 }),
      state,
      kills: this.#kills,
      restarts: this.#restarts,
      pauses: this.#pauses,
      takeovers: Number(row?.epoch ?? 0) - 2 * this.#pauses,
      seconds: (performance.now() - startedAt) / 1000,
      unexpectedDeaths: this.#parts.replicas.unexpectedDeaths,
    };
  }

  /** Of READY machines, as if they had been in service for long. */
  async #addMachines(): Promise<void> {
    const { machines, racks, stepMs } = this.#options;
    await this.#parts.database.rows(
      `INSERT INTO machines (machine_id, labels, spec, phase)
       SELECT 'm-' || lpad(n::text, 6, '0'), jsonb_build_object('fake/step-ms', $3::text, 'role', 'web'),
         jsonb_build_object('provider', 'fake', 'location', jsonb_build_object('rack', 'r' || n % $2)), 'READY'
       FROM generate_series(1, $1::integer) AS n ON CONFLICT DO NOTHING`,
      [machines, racks, stepMs],
    );
  }

  async #create(): Promise<string> {
    const { maxParallel, maxInRack } = this.#options;
    const spec = {
      name: 'storm',
      filter: 'labels.role=web',
      steps: [{ step: { case: 'reboot' as const, value: {} } }],
      waves: ['1', '10%', 'rest'],
      maxParallel: String(maxParallel),
      limits: [{ groupBy: 'location.rack', maxUnavailable: String(maxInRack) }],
    };
    const answer = await this.#parts.client.call(this.#random, (api, signal) =>
      api.rollouts.createRollout({ spec, requestId: 'the-storm' }, { signal }),
    );
    if (answer.outcome === 'refused') throw answer.error;
    return answer.value.rolloutId;
  }

  async #strikeUntilEnded(rolloutId: string): Promise<string> {
    const { killEveryMs, restartEvery, pauseEvery, machines, onProgress } = this.#options;
    for (let round = 1; ; round += 1) {
      const [row] = await this.#parts.database.rows<{ state: string; done: number; ended: boolean }>(
        `SELECT r.state, finished_at IS NOT NULL AS ended, (SELECT sum(succeeded) FROM rollout_waves w
           WHERE w.rollout_id = r.rollout_id)::integer AS done FROM rollouts r WHERE rollout_id = $1`,
        [rolloutId],
      );
      if (!row || row.ended) return row?.state ?? 'gone';
      onProgress?.(
        `${row.done} of ${machines} machines, ${row.state}, ${this.#kills} kills, ${this.#restarts} restarts`,
      );
      await sleep(killEveryMs * (0.5 + this.#random.next()));
      if (round % restartEvery === 0) {
        await this.#parts.postgres.restart(this.#random.chance(0.5) ? 'fast' : 'immediate');
        this.#restarts += 1;
      } else if (round % pauseEvery === 0) await this.#pause(rolloutId, round);
      else this.#killOne();
    }
  }

  #killOne(): void {
    const [first, ...others] = this.#parts.replicas.unharmed;
    if (!first) return;
    this.#random.pick([first, ...others]).kill();
    this.#kills += 1;
  }

  /** A rollout that has just ended refuses it. */
  async #pause(rolloutId: string, round: number): Promise<void> {
    const { client } = this.#parts;
    const paused = await client.call(this.#random, (api, signal) =>
      api.rollouts.pauseRollout({ rolloutId, requestId: `pause-${round}`, reason: 'storm' }, { signal }),
    );
    if (paused.outcome === 'refused') return;
    await sleep(200);
    const resumed = await client.call(this.#random, (api, signal) =>
      api.rollouts.resumeRollout({ rolloutId, requestId: `resume-${round}`, reason: 'storm' }, { signal }),
    );
    if (resumed.outcome === 'refused') throw resumed.error;
    if (resumed.value.state === Rollout_State.PAUSED) throw new Error('it is still paused');
    this.#pauses += 1;
  }
}
