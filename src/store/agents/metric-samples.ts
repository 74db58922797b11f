/**
 * Samples of the metrics of agents. An hour of samples is a partition, and seven partitions are used in turn, so the oldest
 * hour is removed with one TRUNCATE (migration 0007). One replica takes a sample at a time: the one that updates the time of
 * the last sample, in the same transaction in which it makes room.
 */
import { type AgentAddress, METRIC_NAMES, type Metrics } from '../../domain/agent/agent.ts';
import { numberArray, textArray } from '../database/array-literal.ts';
import type { Database, Session } from '../database/database.ts';
import { metricsOfRow } from './metrics-of-row.ts';

const SLOTS = 7;
/** One hour less than there are slots: the current slot does not cover a whole hour yet. */
const KEPT_HOURS = SLOTS - 1;

export interface SampleClaim {
  readonly slot: number;
  /** The time of the previous sample. */
  readonly since: Date;
}

const CLAIM = `
  UPDATE metric_sampling SET previous_at = sampled_at, sampled_at = now()
  WHERE sampled_at <= now() - $1 * interval '1 s'
  RETURNING previous_at AS since, floor(extract(epoch FROM previous_at) / 3600)::integer AS hour_before,
    floor(extract(epoch FROM sampled_at) / 3600)::integer AS hour`;

/** Null: the next sample is not due, or another replica takes it. */
export async function claimSample(database: Database, everySeconds: number): Promise<SampleClaim | null> {
  return database.transaction(async (session) => {
    const [row] = await session.run<{ since: Date; hour_before: number; hour: number }>(
      'claim-sample',
      CLAIM,
      [everySeconds],
    );
    if (!row) return null;
    const slot = row.hour % SLOTS;
    if (row.hour !== row.hour_before) await session.run('', `TRUNCATE metric_samples_${slot}`);
    return { slot, since: row.since };
  });
}

/** The agents that are ready, by the ids of their machines, a page at a time. */
export async function readyAddresses(
  session: Session,
  after: string,
  limit: number,
): Promise<AgentAddress[]> {
  const rows = await session.run<{ machine_id: string; pool: string; provider: string }>(
    'ready-addresses',
    `SELECT machine_id, pool, provider FROM agent_presence
     WHERE status = 'ready' AND machine_id > $1 ORDER BY machine_id LIMIT $2`,
    [after, limit],
  );
  return rows.map((row) => ({ machineId: row.machine_id, poolName: row.pool, providerName: row.provider }));
}

export interface MetricSample {
  /** When the agent reported it. */
  readonly at: Date;
  readonly metrics: Metrics;
}

const COLUMNS = METRIC_NAMES.join(', ');

const STORE = `
  INSERT INTO metric_samples (slot, machine_id, at, ${COLUMNS})
  SELECT $1, i.* FROM unnest($2::text[], $3::timestamptz[], ${METRIC_NAMES.map(
    (_name, index) => `$${index + 4}::double precision[]`,
  ).join(', ')}) AS i`;

export async function storeSamples(
  session: Session,
  slot: number,
  samples: ReadonlyArray<MetricSample & { readonly machineId: string }>,
): Promise<void> {
  await session.run('store-samples', STORE, [
    slot,
    textArray(samples.map(({ machineId }) => machineId)),
    textArray(samples.map(({ at }) => at.toISOString())),
    ...METRIC_NAMES.map((name) => numberArray(samples.map(({ metrics }) => metrics[name] ?? null))),
  ]);
}

/** Oldest first. Two samples of one keepalive count as one. */
const HISTORY = `
  SELECT DISTINCT ON (at) at, ${COLUMNS} FROM metric_samples
  WHERE machine_id = $1 AND at > now() - interval '${KEPT_HOURS} hours' ORDER BY at`;

type SampleRow = { at: Date } & { readonly [name in keyof Metrics]: number | null };

export async function readSamples(session: Session, machineId: string): Promise<MetricSample[]> {
  const rows = await session.run<SampleRow & Record<string, unknown>>('read-samples', HISTORY, [machineId]);
  return rows.map((row) => ({ at: row.at, metrics: metricsOfRow(row) }));
}
