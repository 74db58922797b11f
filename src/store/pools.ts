/** Worker pools: names that agents may enrol under. */
import { type Actor, actorLabel } from '../domain/actor.ts';
import { METRIC_NAMES, METRICS, type Metrics, POOL_RULE } from '../domain/agent.ts';
import { Fault } from '../domain/fault.ts';
import type { Presence } from '../domain/presence.ts';
import type { Session } from './database.ts';
import { type KeepaliveStore, KeepalivesAway } from './keepalive-store.ts';

export interface Pool {
  readonly name: string;
  readonly createdBy: string;
  readonly createdAt: Date;
}

interface PoolRow {
  pool_name: string;
  created_by: string;
  created_at: Date;
}

const COLUMNS = 'pool_name, created_by, created_at';

function poolOf(row: PoolRow): Pool {
  return { name: row.pool_name, createdBy: row.created_by, createdAt: row.created_at };
}

export async function createPool(session: Session, name: string, actor: Actor): Promise<Pool> {
  const [row] = await session.run<PoolRow & Record<string, unknown>>(
    'create-pool',
    `INSERT INTO pools (pool_name, created_by) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
    [name, actorLabel(actor)],
  );
  if (row) return poolOf(row);
  throw new Fault('already_exists', {
    reason: 'POOL_EXISTS',
    message: `there is a pool named ${name} already`,
    metadata: { pool: name },
  });
}

/** Those of the configuration; what is there already stays. */
export async function ensurePools(session: Session, names: readonly string[]): Promise<void> {
  await session.run(
    'ensure-pools',
    `INSERT INTO pools (pool_name, created_by)
     SELECT name, 'system:configuration' FROM unnest($1::text[]) AS name ON CONFLICT DO NOTHING`,
    [names],
  );
}

export async function listPools(session: Session): Promise<Pool[]> {
  const rows = await session.run<PoolRow & Record<string, unknown>>(
    'list-pools',
    `SELECT ${COLUMNS} FROM pools ORDER BY pool_name`,
  );
  return rows.map(poolOf);
}

export async function poolExists(session: Session, name: string): Promise<boolean> {
  // The database refuses some texts that are no names, such as NUL.
  if (!POOL_RULE.test(name)) return false;
  const rows = await session.run('pool-exists', 'SELECT 1 AS found FROM pools WHERE pool_name = $1', [name]);
  return rows.length > 0;
}

export interface PoolHealth extends Pool {
  /** At least one agent is ready. */
  readonly healthy: boolean;
  readonly counts: Readonly<Record<Presence, number>>;
  readonly metrics: Metrics;
}

const COUNTS = `
  SELECT pool, presence, count(*) AS machines FROM machines
  WHERE pool IS NOT NULL AND presence IS NOT NULL AND service IS DISTINCT FROM 'deleted' GROUP BY pool, presence`;

const NOBODY = { pending: 0, registered: 0, ready: 0, expired: 0 } as const satisfies Record<
  Presence,
  number
>;

export async function readPoolHealth(session: Session, keepalives: KeepaliveStore): Promise<PoolHealth[]> {
  const pools = await listPools(session);
  const rows = await session.run<{ pool: string; presence: Presence; machines: number }>(
    'count-pools',
    COUNTS,
  );
  const counts = new Map<string, Record<Presence, number>>();
  for (const { pool, presence, machines } of rows) {
    const known = counts.get(pool) ?? { ...NOBODY };
    known[presence] = machines;
    counts.set(pool, known);
  }
  const metrics = await keepalives.poolMetrics(pools.map(({ name }) => name)).catch((error: unknown) => {
    // Health is known without it.
    if (error instanceof KeepalivesAway) return new Map<string, Metrics>();
    throw error;
  });
  return pools.map((pool) => {
    const known = counts.get(pool.name) ?? NOBODY;
    return { ...pool, healthy: known.ready > 0, counts: known, metrics: metrics.get(pool.name) ?? {} };
  });
}

/** Adds up what each agent of a pool told, or takes the average of it. */
export class MetricsOfMany {
  readonly #sums = new Map<string, { sum: number; count: number }>();

  add(metrics: Metrics): void {
    for (const name of METRIC_NAMES) {
      const value = metrics[name];
      if (value === undefined) continue;
      const entry = this.#sums.get(name) ?? { sum: 0, count: 0 };
      entry.sum += value;
      entry.count += 1;
      this.#sums.set(name, entry);
    }
  }

  get result(): Metrics {
    const metrics: Metrics = {};
    for (const name of METRIC_NAMES) {
      const entry = this.#sums.get(name);
      if (entry) metrics[name] = METRICS[name].inPool === 'sum' ? entry.sum : entry.sum / entry.count;
    }
    return metrics;
  }
}

/** Those of the pools that have a ready agent. */
export async function poolsWithReady(
  session: Session,
  pools: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await session.run<{ pool: string }>(
    'pools-with-ready',
    `SELECT pool FROM unnest($1::text[]) AS p(pool)
     WHERE EXISTS (SELECT FROM machines m WHERE m.pool = p.pool AND m.presence = 'ready')`,
    [pools],
  );
  return new Set(rows.map((row) => row.pool));
}
