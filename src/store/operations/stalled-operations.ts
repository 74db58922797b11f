/**
 * Which operations stand at a step that is slower than 99 % of its history. Lists and overviews ask for it in every call, so both
 * parts are kept: what steps usually take for ten minutes, and which ones are slower for five seconds. A call reads neither as
 * long as they are fresh, so a list costs the same whatever its length.
 *
 * For a caller with a scope, the history is that of its own machines: what is usual for others is theirs.
 */

import type { Scope } from '../../domain/access/scope.ts';
import { ACTIVE_STATUSES } from '../../domain/operation/operation-status.ts';
import type { OperationType } from '../../domain/operation/operation-type.ts';
import { type RunningStep, type Stall, type StepDurations, stallOf } from '../../domain/operation/stall.ts';
import type { Database, Session } from '../database/database.ts';
import { inScope, preparedAs } from '../filter/scope-condition.ts';
import { specColumn } from '../machines/spec-columns.ts';

/** Only the newest are read: the cost is the same however long the history is. */
const NEWEST = 10_000;
/** Of more steps that run at once, those that run longest: what stalls is among them, and memory does not grow with their number. */
const LONGEST = 10_000;
const HISTORY_MS = 600_000;
const STALLS_MS = 5_000;

export type Stalls = ReadonlyMap<string, Stall>;

export const NO_STALLS: Stalls = new Map();

/** Scopes whose stalls are kept; of more, the one that was not asked for longest is read again. */
const MOST_SCOPES = 1_000;

export class StalledOperations {
  readonly #database: Database;
  readonly #now: () => Date;
  readonly #fleet: StallsOfScope;
  /** In the order of their last use. */
  readonly #scopes = new Map<string, StallsOfScope>();

  constructor(database: Database, now: () => Date) {
    this.#database = database;
    this.#now = now;
    this.#fleet = new StallsOfScope(database, null, now);
  }

  /** By the id of the operation. */
  read(scope: Scope | null): Promise<Stalls> {
    return this.#of(scope).read();
  }

  /** Those of the last read, for streams that do not wait. */
  latest(scope: Scope | null): Stalls {
    return this.#of(scope).latest;
  }

  #of(scope: Scope | null): StallsOfScope {
    if (scope === null) return this.#fleet;
    const key = JSON.stringify(scope.terms);
    const known = this.#scopes.get(key) ?? new StallsOfScope(this.#database, scope, this.#now);
    this.#scopes.delete(key);
    this.#scopes.set(key, known);
    const [oldest] = this.#scopes.keys();
    if (this.#scopes.size > MOST_SCOPES && oldest !== undefined) this.#scopes.delete(oldest);
    return known;
  }
}

class StallsOfScope {
  readonly #database: Database;
  readonly #scope: Scope | null;
  readonly #now: () => Date;
  #history: Kept<ReadonlyMap<string, StepDurations>> | null = null;
  #stalls: Kept<Stalls> | null = null;
  #reading: Promise<Stalls> | null = null;

  constructor(database: Database, scope: Scope | null, now: () => Date) {
    this.#database = database;
    this.#scope = scope;
    this.#now = now;
  }

  read(): Promise<Stalls> {
    if (this.#stalls !== null && this.#isFresh(this.#stalls, STALLS_MS))
      return Promise.resolve(this.#stalls.value);
    this.#reading ??= this.#readAgain().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  get latest(): Stalls {
    return this.#stalls?.value ?? NO_STALLS;
  }

  async #readAgain(): Promise<Stalls> {
    const running = await runningSteps(this.#database, this.#scope);
    if (running.length > 0 && (this.#history === null || !this.#isFresh(this.#history, HISTORY_MS))) {
      this.#history = { at: this.#now().getTime(), value: await stepDurations(this.#database, this.#scope) };
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

const durations = (within: string) => `
  SELECT kind, provider, count(*)::integer AS samples,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY seconds) AS p99
  FROM (
    SELECT s ->> 'kind' AS kind, coalesce(${PROVIDER}, '') AS provider,
      extract(epoch FROM (s ->> 'finishedAt')::timestamptz - (s ->> 'startedAt')::timestamptz)::double precision AS seconds
    FROM (
      SELECT machine_id, steps FROM operations WHERE ingot_operation_phase(status) = 'SUCCEEDED' AND ${within}
      ORDER BY operation_id DESC LIMIT ${NEWEST}) AS newest
    JOIN machines USING (machine_id), jsonb_array_elements(newest.steps) AS s
    WHERE s ->> 'state' = 'succeeded') AS taken
  WHERE seconds IS NOT NULL GROUP BY kind, provider`;

async function stepDurations(session: Session, scope: Scope | null): Promise<Map<string, StepDurations>> {
  const { text, values } = inScope(scope, 'machine_id', 1);
  const rows = await session.run<{
    kind: string;
    provider: string;
    samples: number;
    p50: number;
    p99: number;
  }>(preparedAs('step-durations', scope), durations(text), values);
  return new Map(
    rows.map(({ samples, p50, p99, ...row }) => [keyOf(row), { samples, p50Seconds: p50, p99Seconds: p99 }]),
  );
}

const running = (within: string) => `
  SELECT operation_id, machine_id, type, s ->> 'name' AS step, s ->> 'kind' AS kind, coalesce(${PROVIDER}, '') AS provider,
    (s ->> 'startedAt')::timestamptz AS started_at
  FROM operations JOIN machines USING (machine_id), LATERAL (SELECT operations.steps -> operations.current AS s) AS at_step
  WHERE status IN (${ACTIVE_STATUSES.map((status) => `'${status}'`).join(', ')}) AND s ->> 'state' = 'running'
    AND s ->> 'startedAt' IS NOT NULL AND ${within}
  ORDER BY started_at LIMIT ${LONGEST}`;

async function runningSteps(session: Session, scope: Scope | null): Promise<RunningStep[]> {
  const { text, values } = inScope(scope, 'operations.machine_id', 1);
  const rows = await session.run<{
    operation_id: string;
    machine_id: string;
    type: OperationType;
    step: string;
    kind: string;
    provider: string;
    started_at: Date;
  }>(preparedAs('running-steps', scope), running(text), values);
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
