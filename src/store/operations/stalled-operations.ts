/**
 * Which operations stand at a step that is slower than 99 % of its history. Lists and overviews ask for it in every call, so both
 * parts are kept: what steps usually take for ten minutes, and which ones are slower for five seconds. A call reads neither as
 * long as they are fresh, so a list costs the same whatever its length.
 */

import { ACTIVE_STATUSES } from '../../domain/operation/operation-status.ts';
import type { OperationType } from '../../domain/operation/operation-type.ts';
import { type RunningStep, type Stall, type StepDurations, stallOf } from '../../domain/operation/stall.ts';
import type { Database, Session } from '../database/database.ts';
import { specColumn } from '../machines/spec-columns.ts';

/** Only the newest are read: the cost is the same however long the history is. */
const NEWEST = 10_000;
/** Of more steps that run at once, those that run longest: what stalls is among them, and memory does not grow with their number. */
const LONGEST = 10_000;
const HISTORY_MS = 600_000;
const STALLS_MS = 5_000;

export type Stalls = ReadonlyMap<string, Stall>;

export const NO_STALLS: Stalls = new Map();

export class StalledOperations {
  readonly #database: Database;
  readonly #now: () => Date;
  #history: Kept<ReadonlyMap<string, StepDurations>> | null = null;
  #stalls: Kept<Stalls> | null = null;
  #reading: Promise<Stalls> | null = null;

  constructor(database: Database, now: () => Date) {
    this.#database = database;
    this.#now = now;
  }

  /** By the id of the operation. */
  read(): Promise<Stalls> {
    if (this.#stalls !== null && this.#isFresh(this.#stalls, STALLS_MS))
      return Promise.resolve(this.#stalls.value);
    this.#reading ??= this.#readAgain().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  /** Those of the last read, for streams that do not wait. */
  get latest(): Stalls {
    return this.#stalls?.value ?? NO_STALLS;
  }

  async #readAgain(): Promise<Stalls> {
    const running = await runningSteps(this.#database);
    if (running.length > 0 && (this.#history === null || !this.#isFresh(this.#history, HISTORY_MS))) {
      this.#history = { at: this.#now().getTime(), value: await stepDurations(this.#database) };
    }
    const history = this.#history?.value ?? new Map();
    const now = this.#now();
    const value = new Map(
      running.flatMap((step) => {
        const stall = stallOf(step, history.get(keyOf(step)), now);
        return stall === null ? [] : [[step.operationId, stall] as const];
      }),
    );
    this.#stalls = { at: now.getTime(), value };
    return value;
  }

  #isFresh({ at }: Kept<unknown>, lifetimeMs: number): boolean {
    const age = this.#now().getTime() - at;
    return age >= 0 && age < lifetimeMs;
  }
}

interface Kept<T> {
  readonly at: number;
  readonly value: T;
}

const keyOf = ({ kind, provider }: Pick<RunningStep, 'kind' | 'provider'>) => `${kind} ${provider}`;

const PROVIDER = specColumn('provider');

const DURATIONS = `
  SELECT kind, provider, count(*)::integer AS samples,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY seconds) AS p99
  FROM (
    SELECT s ->> 'kind' AS kind, coalesce(${PROVIDER}, '') AS provider,
      extract(epoch FROM (s ->> 'finishedAt')::timestamptz - (s ->> 'startedAt')::timestamptz)::double precision AS seconds
    FROM (
      SELECT machine_id, steps FROM operations WHERE ingot_operation_phase(status) = 'SUCCEEDED'
      ORDER BY operation_id DESC LIMIT ${NEWEST}) AS newest
    JOIN machines USING (machine_id), jsonb_array_elements(newest.steps) AS s
    WHERE s ->> 'state' = 'succeeded') AS taken
  WHERE seconds IS NOT NULL GROUP BY kind, provider`;

async function stepDurations(session: Session): Promise<Map<string, StepDurations>> {
  const rows = await session.run<{
    kind: string;
    provider: string;
    samples: number;
    p50: number;
    p99: number;
  }>('step-durations', DURATIONS);
  return new Map(
    rows.map(({ samples, p50, p99, ...row }) => [keyOf(row), { samples, p50Seconds: p50, p99Seconds: p99 }]),
  );
}

const RUNNING = `
  SELECT operation_id, machine_id, type, s ->> 'name' AS step, s ->> 'kind' AS kind, coalesce(${PROVIDER}, '') AS provider,
    (s ->> 'startedAt')::timestamptz AS started_at
  FROM operations JOIN machines USING (machine_id), LATERAL (SELECT operations.steps -> operations.current AS s) AS at_step
  WHERE status IN (${ACTIVE_STATUSES.map((status) => `'${status}'`).join(', ')}) AND s ->> 'state' = 'running'
    AND s ->> 'startedAt' IS NOT NULL
  ORDER BY started_at LIMIT ${LONGEST}`;

async function runningSteps(session: Session): Promise<RunningStep[]> {
  const rows = await session.run<{
    operation_id: string;
    machine_id: string;
    type: OperationType;
    step: string;
    kind: string;
    provider: string;
    started_at: Date;
  }>('running-steps', RUNNING);
  return rows.map((row) => ({
    operationId: row.operation_id,
    machineId: row.machine_id,
    type: row.type,
    step: row.step,
    kind: row.kind,
    provider: row.provider,
    startedAt: row.started_at,
  }));
}
