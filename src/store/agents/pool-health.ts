/** The health of pools: their machines by presence and by whether they are schedulable, and the capacity of those. */
import type { Scope } from '../../domain/access/scope.ts';
import { type Metrics, UNKNOWN_GPU } from '../../domain/agent/agent.ts';
import type { Presence } from '../../domain/agent/presence.ts';
import type { UnschedulableReason } from '../../domain/machine/schedulable.ts';
import type { Session } from '../database/database.ts';
import { inScope, preparedAs, scopeCondition } from '../filter/scope-condition.ts';
import { SCHEDULABLE_COLUMN, UNSCHEDULABLE_COLUMN } from '../machines/schedulable-column.ts';
import { type KeepaliveStore, KeepalivesAway } from './keepalive-store.ts';
import type { Pool } from './pools.ts';

/** As registered by the agents. */
export interface PoolCapacity {
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly gpuCount: number;
}

export interface PoolGpus {
  readonly model: string;
  readonly schedulable: number;
  readonly total: number;
}

/** What is in a pool. */
export interface PoolFigures {
  /** At least one machine is schedulable. */
  readonly healthy: boolean;
  readonly counts: Readonly<Record<Presence, number>>;
  readonly schedulable: number;
  readonly total: number;
  readonly unschedulable: Readonly<Partial<Record<UnschedulableReason, number>>>;
  readonly capacity: PoolCapacity;
  readonly totalCapacity: PoolCapacity;
  /** The most frequent first. */
  readonly gpus: readonly PoolGpus[];
  /** Of the schedulable machines. */
  readonly metrics: Metrics;
}

export interface PoolHealth extends Pool, PoolFigures {}

/** A machine that has not registered has no capacity. */
const countsOf = (within: string) => `
  SELECT m.pool, m.presence, ${UNSCHEDULABLE_COLUMN} AS reason, count(*) AS machines,
    coalesce(sum(a.cpu_millicores), 0)::float8 AS cpu_millicores,
    coalesce(sum(a.memory_bytes), 0)::float8 AS memory_bytes,
    coalesce(sum(a.gpu_count), 0)::float8 AS gpu_count
  FROM machines m LEFT JOIN agents a USING (machine_id)
  WHERE m.pool = ANY($1) AND m.presence IS NOT NULL AND m.service IS DISTINCT FROM 'deleted' AND ${within} GROUP BY 1, 2, 3`;

interface CountRow {
  pool: string;
  presence: Presence;
  reason: UnschedulableReason | null;
  machines: number;
  cpu_millicores: number;
  memory_bytes: number;
  gpu_count: number;
}

const gpusOf = (within: string) => `
  SELECT m.pool, g.model, sum(g.count)::float8 AS total,
    coalesce(sum(g.count) FILTER (WHERE ${SCHEDULABLE_COLUMN}), 0)::float8 AS schedulable
  FROM machines m JOIN agents a USING (machine_id)
    CROSS JOIN LATERAL jsonb_to_recordset(a.gpus) AS g(model text, count integer)
  WHERE m.pool = ANY($1) AND m.presence IS NOT NULL AND m.service IS DISTINCT FROM 'deleted' AND a.gpus <> '[]'
    AND ${within}
  GROUP BY 1, 2`;

interface GpuRow {
  pool: string;
  model: string;
  total: number;
  schedulable: number;
}

const NO_MACHINES = { pending: 0, registered: 0, ready: 0, expired: 0 } as const satisfies Record<
  Presence,
  number
>;
const NO_CAPACITY: PoolCapacity = { cpuMillicores: 0, memoryBytes: 0, gpuCount: 0 };

/** Of a pool without machines. */
export const NO_FIGURES: PoolFigures = { ...countedPool([], []), metrics: {} };

export interface PoolsRequest {
  readonly keepalives: KeepaliveStore;
  /** The caller's: its own machines alone are counted. */
  readonly scope: Scope | null;
}

/** By pool; what it costs grows with their machines. */
export async function readPoolFigures(
  session: Session,
  { keepalives, scope }: PoolsRequest,
  names: readonly string[],
): Promise<ReadonlyMap<string, PoolFigures>> {
  const { text, values } = inScope(scope, 'm.machine_id', 2);
  const counts = await session.run<CountRow & Record<string, unknown>>(
    preparedAs('count-pools', scope),
    countsOf(text),
    [names, ...values],
  );
  const gpus = await session.run<GpuRow & Record<string, unknown>>(
    preparedAs('pool-gpus', scope),
    gpusOf(text),
    [names, ...values],
  );
  const offered = () => schedulableIn(session, names, scope);
  const metrics = await keepalives.poolMetrics(names, offered, scope).catch((error: unknown) => {
    // Health does not depend on metrics.
    if (error instanceof KeepalivesAway) return new Map<string, Metrics>();
    throw error;
  });
  return new Map(
    names.map((name) => {
      const counted = countedPool(
        counts.filter((row) => row.pool === name),
        gpus.filter((row) => row.pool === name),
      );
      return [name, { ...counted, metrics: metrics.get(name) ?? {} }];
    }),
  );
}

function countedPool(rows: readonly CountRow[], gpuRows: readonly GpuRow[]): Omit<PoolFigures, 'metrics'> {
  const counts: Record<Presence, number> = { ...NO_MACHINES };
  const unschedulable: Partial<Record<UnschedulableReason, number>> = {};
  let [schedulable, total] = [0, 0];
  let [capacity, totalCapacity] = [NO_CAPACITY, NO_CAPACITY];
  for (const row of rows) {
    counts[row.presence] += row.machines;
    total += row.machines;
    totalCapacity = plus(totalCapacity, row);
    if (row.reason === null) {
      schedulable += row.machines;
      capacity = plus(capacity, row);
    } else unschedulable[row.reason] = (unschedulable[row.reason] ?? 0) + row.machines;
  }
  const gpus = withUnknown(gpuRows, capacity.gpuCount, totalCapacity.gpuCount);
  return {
    healthy: schedulable > 0,
    counts,
    schedulable,
    total,
    unschedulable,
    capacity,
    totalCapacity,
    gpus,
  };
}

function plus(sum: PoolCapacity, row: CountRow): PoolCapacity {
  return {
    cpuMillicores: sum.cpuMillicores + row.cpu_millicores,
    memoryBytes: sum.memoryBytes + row.memory_bytes,
    gpuCount: sum.gpuCount + row.gpu_count,
  };
}

/** GPUs of agents that report only their number have no model. */
function withUnknown(rows: readonly GpuRow[], schedulable: number, total: number): PoolGpus[] {
  const known = rows.map(({ model, ...counts }) => ({
    model,
    schedulable: counts.schedulable,
    total: counts.total,
  }));
  const rest = {
    model: UNKNOWN_GPU,
    schedulable: Math.max(0, schedulable - sumOf(known, 'schedulable')),
    total: Math.max(0, total - sumOf(known, 'total')),
  };
  const all = rest.total > 0 ? [...known, rest] : known;
  return all.sort((left, right) => right.total - left.total || (left.model < right.model ? -1 : 1));
}

function sumOf(gpus: readonly PoolGpus[], count: 'schedulable' | 'total'): number {
  return gpus.reduce((sum, each) => sum + each[count], 0);
}

async function schedulableIn(
  session: Session,
  pools: readonly string[],
  scope: Scope | null,
): Promise<ReadonlySet<string>> {
  const { text, values } = scopeCondition(scope, 2);
  const rows = await session.run<{ machine_id: string }>(
    preparedAs('schedulable-machines', scope),
    `SELECT machine_id FROM machines WHERE pool = ANY($1) AND ${SCHEDULABLE_COLUMN} AND ${text}`,
    [pools, ...values],
  );
  return new Set(rows.map((row) => row.machine_id));
}

/** The pools that have a schedulable machine. */
export async function poolsWithSchedulable(
  session: Session,
  pools: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await session.run<{ pool: string }>(
    'pools-with-schedulable',
    `SELECT p.pool FROM unnest($1::text[]) AS p(pool)
     WHERE EXISTS (SELECT FROM machines m WHERE m.pool = p.pool AND ${SCHEDULABLE_COLUMN})`,
    [pools],
  );
  return new Set(rows.map((row) => row.pool));
}
