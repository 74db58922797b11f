/**
 * The fleet over time. Machines by state are samples of the whole fleet; operations are read from their own table by the time that
 * they ended, within the scope. The whole fleet's answer is shared for a while, because every console asks for the same one.
 */
import type { Scope } from '../../domain/access/scope.ts';
import type { OperationType } from '../../domain/operation/operation-type.ts';
import type { Database, Session } from '../database/database.ts';
import { inScope, preparedAs } from '../filter/scope-condition.ts';

export interface FleetHistory {
  readonly at: Date;
  readonly from: Date;
  readonly samples: ReadonlyArray<{ readonly at: Date; readonly machines: Readonly<Record<string, number>> }>;
  readonly hours: ReadonlyArray<{
    readonly start: Date;
    readonly operations: Readonly<Record<string, number>>;
  }>;
  readonly durations: readonly TypeDurations[];
}

export interface TypeDurations {
  readonly type: OperationType;
  readonly operations: number;
  readonly failed: number;
  readonly p50Seconds: number;
  readonly p90Seconds: number;
}

const FROM = `date_trunc('hour', now()) - make_interval(hours => $1::integer - 1)`;
const MANY_HOURS = 24;

const SAMPLES = `
  SELECT at, jsonb_object_agg(state, machines) AS machines FROM fleet_samples
  WHERE at >= ${FROM} AND ($1::integer <= ${MANY_HOURS} OR at = date_bin('1 hour', at, 'epoch') + interval '55 minutes')
  GROUP BY at ORDER BY at`;

const HOURS = (within: string) => `
  SELECT h.start, coalesce(e.operations, '{}') AS operations
  FROM generate_series(${FROM}, date_trunc('hour', now()), interval '1 hour') AS h(start)
  LEFT JOIN (
    SELECT start, jsonb_object_agg(phase, operations) AS operations FROM (
      SELECT date_trunc('hour', finished_at) AS start, ingot_operation_phase(status) AS phase, count(*) AS operations
      FROM operations WHERE finished_at >= ${FROM} AND ${within} GROUP BY 1, 2) AS ended
    GROUP BY start) AS e USING (start)
  ORDER BY h.start`;

const TOOK = 'extract(epoch FROM finished_at - coalesce(started_at, created_at))::float8';
const SUCCEEDED = `ingot_operation_phase(status) = 'SUCCEEDED'`;
const DURATIONS = (within: string) => `
  SELECT type, count(*) AS operations, count(*) FILTER (WHERE ingot_operation_phase(status) = 'FAILED') AS failed,
    coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY ${TOOK}) FILTER (WHERE ${SUCCEEDED}), 0) AS p50,
    coalesce(percentile_disc(0.9) WITHIN GROUP (ORDER BY ${TOOK}) FILTER (WHERE ${SUCCEEDED}), 0) AS p90
  FROM operations WHERE finished_at >= ${FROM} AND ${within} GROUP BY type ORDER BY 2 DESC, 1`;

/** For so long, callers without a scope get the same answer. */
const SHARED_MS = 10_000;

export class FleetHistoryReader {
  readonly #database: Database;
  readonly #shared = new Map<number, Promise<FleetHistory>>();

  constructor(database: Database) {
    this.#database = database;
  }

  read(hours: number, scope: Scope | null): Promise<FleetHistory> {
    if (scope !== null) return readFleetHistory(this.#database, hours, scope);
    const found = this.#shared.get(hours);
    if (found) return found;
    const reading = readFleetHistory(this.#database, hours, null);
    this.#shared.set(hours, reading);
    const forget = () => void this.#shared.delete(hours);
    // A failure is not shared with those who come later.
    reading.then(() => setTimeout(forget, SHARED_MS).unref(), forget);
    return reading;
  }
}

function readFleetHistory(database: Database, hours: number, scope: Scope | null): Promise<FleetHistory> {
  return database.snapshot(async (session) => {
    const [times] = await session.run<{ at: Date; from: Date }>(
      'fleet-history-times',
      `SELECT now() AS at, ${FROM} AS from`,
      [hours],
    );
    if (!times) throw new Error('the database did not return its time');
    const { text, values } = inScope(scope, 'machine_id', 2);
    return {
      ...times,
      samples: scope === null ? await readSamples(session, hours) : [],
      hours: await session.run<FleetHistory['hours'][number] & Record<string, unknown>>(
        preparedAs('fleet-hours', scope),
        HOURS(text),
        [hours, ...values],
      ),
      durations: await readDurations(session, scope, { text, values: [hours, ...values] }),
    };
  });
}

function readSamples(session: Session, hours: number) {
  return session.run<FleetHistory['samples'][number] & Record<string, unknown>>('fleet-samples', SAMPLES, [
    hours,
  ]);
}

async function readDurations(
  session: Session,
  scope: Scope | null,
  { text, values }: { readonly text: string; readonly values: unknown[] },
): Promise<TypeDurations[]> {
  const rows = await session.run<{
    type: OperationType;
    operations: number;
    failed: number;
    p50: number;
    p90: number;
  }>(preparedAs('fleet-durations', scope), DURATIONS(text), values);
  return rows.map(({ p50, p90, ...row }) => ({ ...row, p50Seconds: p50, p90Seconds: p90 }));
}
