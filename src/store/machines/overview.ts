/** The fleet at a glance: a few aggregates from one snapshot. */
import type { Scope } from '../../domain/access/scope.ts';
import type { AttentionType } from '../../domain/condition/attention.ts';
import {
  LIMITED_LAYERS,
  type LimitedLayer,
  overdueBefore,
  STATE_TIME_LIMITS,
  type StateTimeLimit,
} from '../../domain/machine/state-time-limit.ts';
import { ACTIVE_STATUSES } from '../../domain/operation/operation-status.ts';
import { Coalescer } from '../database/coalescer.ts';
import type { Database, Session } from '../database/database.ts';
import { MACHINE_FILTER_COLUMNS } from '../filter/machine-columns.ts';
import { inScope, preparedAs, scopeCondition } from '../filter/scope-condition.ts';
import { countOpenRollouts } from '../rollouts/rollouts-at-a-glance.ts';
import { countMachines, type MachineCounts } from './count-machines.ts';
import { type GroupName, groupKey } from './machine-keys.ts';
import { readUnhealthyUpstreams, type UnhealthyUpstream } from './upstream-reads.ts';

const columns = MACHINE_FILTER_COLUMNS;

const LAYERS = [
  'effective_state',
  'phase',
  'service',
  'install',
  'presence',
  'schedulable',
] as const satisfies readonly GroupName[];

export interface AttentionGroup {
  readonly condition: AttentionType;
  readonly reason: string;
  readonly machines: number;
  /** The machine that has it since most recently. */
  readonly exampleMachineId: string;
  readonly exampleMessage: string;
  readonly newest: Date;
}

export interface OverdueGroup {
  readonly limit: StateTimeLimit;
  readonly machines: number;
}

export interface Overview {
  readonly at: Date;
  readonly counts: MachineCounts;
  readonly attention: readonly AttentionGroup[];
  readonly overdue: readonly OverdueGroup[];
  /** Machines whose maintenance is over. */
  readonly maintenanceOverdue: number;
  readonly underWay: Readonly<Record<string, number>>;
  readonly ended: Readonly<Record<string, number>>;
  readonly unhealthyUpstreams: readonly UnhealthyUpstream[];
  /** Those that have not ended, by state. */
  readonly rollouts: Readonly<Record<string, number>>;
}

/**
 * One overview at a time, however many callers there are: those who call while one is read share the next one. It starts
 * after their calls, so each caller sees its own writes. Callers with a scope each read their own.
 */
export class OverviewReader {
  readonly #database: Database;
  readonly #reads: Coalescer<null, Overview>;

  constructor(database: Database) {
    this.#database = database;
    this.#reads = new Coalescer({
      maxBatch: 1_000,
      maxUnderWay: 1,
      flush: async (callers) => {
        const overview = await readOverview(database, null);
        return callers.map(() => overview);
      },
      isPoisoned: () => false,
    });
  }

  read(scope: Scope | null): Promise<Overview> {
    return scope === null ? this.#reads.submit(null) : readOverview(this.#database, scope);
  }
}

function readOverview(database: Database, scope: Scope | null): Promise<Overview> {
  return database.snapshot(async (session) => {
    const at = await databaseTime(session);
    return {
      at,
      counts: await countMachines(session, {
        filter: null,
        scope,
        keys: LAYERS.map((layer) => groupKey(layer, 'facets')),
      }),
      attention: await readAttention(session, scope),
      overdue: await readOverdue(session, at, scope),
      maintenanceOverdue: await countMaintenanceOverdue(session, scope),
      underWay: await countOperations(session, 'count-under-way', UNDER_WAY, scope),
      ended: await countOperations(session, 'count-ended', ENDED, scope),
      unhealthyUpstreams: await readUnhealthyUpstreams(session, scope),
      rollouts: await countOpenRollouts(session, scope),
    };
  });
}

async function databaseTime(session: Session): Promise<Date> {
  const [row] = await session.run<{ at: Date }>('database-time', 'SELECT now() AS at');
  if (!row) throw new Error('the database did not return its time');
  return row.at;
}

/** By effective state, because it has an index, and only these conditions lead to these two states. */
const attention = (within: string) => `
  SELECT DISTINCT ON (condition, reason) condition, reason, message, machine_id, since,
    count(*) OVER (PARTITION BY condition, reason) AS machines
  FROM (
    SELECT machine_id, ${columns.attention} AS condition, ${columns.attention_reason} AS reason,
      conditions -> ${columns.attention} ->> 'message' AS message,
      (conditions -> ${columns.attention} ->> 'lastTransition')::timestamptz AS since
    FROM machines
    WHERE ${columns.effective_state} IN ('ATTENTION', 'BLOCKED')
      AND service IS DISTINCT FROM 'deleted' AND ${within}) AS m
  ORDER BY condition, reason, since DESC, machine_id`;

interface AttentionRow {
  condition: AttentionType;
  reason: string;
  message: string;
  machine_id: string;
  since: Date;
  machines: number;
}

async function readAttention(session: Session, scope: Scope | null): Promise<AttentionGroup[]> {
  const { text, values } = scopeCondition(scope, 1);
  const rows = await session.run<AttentionRow & Record<string, unknown>>(
    preparedAs('count-attention', scope),
    attention(text),
    [...values],
  );
  return rows
    .map((row) => ({
      condition: row.condition,
      reason: row.reason,
      machines: row.machines,
      exampleMachineId: row.machine_id,
      exampleMessage: row.message,
      newest: row.since,
    }))
    .sort((left, right) => right.machines - left.machines);
}

/** One part for each layer, because each has an index of its states, and most machines are in states without a limit. */
const overdue = (within: string) =>
  (Object.keys(LIMITED_LAYERS) as LimitedLayer[])
    .map((layer) => overduePart(layer, within))
    .join(' UNION ALL ');

function overduePart(layer: LimitedLayer, within: string): string {
  const state = columns[layer];
  const terms = STATE_TIME_LIMITS.flatMap((limit, index) =>
    limit.layer === layer
      ? [`(${state} = '${limit.state}' AND ${LIMITED_LAYERS[layer].since} < $${index + 1}::timestamptz)`]
      : [],
  );
  return `SELECT '${layer}' AS layer, ${state} AS state, count(*) AS machines FROM machines
    WHERE service IS DISTINCT FROM 'deleted' AND (${terms.join(' OR ')}) AND ${within} GROUP BY 2`;
}

async function readOverdue(session: Session, at: Date, scope: Scope | null): Promise<OverdueGroup[]> {
  const { text, values } = scopeCondition(scope, STATE_TIME_LIMITS.length + 1);
  const rows = await session.run<{ layer: LimitedLayer; state: string; machines: number }>(
    preparedAs('count-overdue', scope),
    overdue(text),
    [...STATE_TIME_LIMITS.map((limit) => overdueBefore(limit, at).toISOString()), ...values],
  );
  return STATE_TIME_LIMITS.flatMap((limit) => {
    const row = rows.find(({ layer, state }) => layer === limit.layer && state === limit.state);
    return row ? [{ limit, machines: row.machines }] : [];
  });
}

async function countMaintenanceOverdue(session: Session, scope: Scope | null): Promise<number> {
  const { text, values } = scopeCondition(scope, 1);
  const [row] = await session.run<{ machines: number }>(
    preparedAs('count-maintenance-overdue', scope),
    `SELECT count(*) AS machines FROM machines WHERE ${columns.maintenance_overdue}
       AND service IS DISTINCT FROM 'deleted' AND ${text}`,
    [...values],
  );
  return row?.machines ?? 0;
}

/** As literals, so that the planner uses the index of active operations. */
const ACTIVE = ACTIVE_STATUSES.map((status) => `'${status}'`).join(', ');

const UNDER_WAY = (within: string) => `
  SELECT type AS name, count(*) AS operations FROM operations
  WHERE status IN (${ACTIVE}) AND ${within} GROUP BY type ORDER BY type`;

const ENDED = (within: string) => `
  SELECT ingot_operation_phase(status) AS name, count(*) AS operations FROM operations
  WHERE finished_at > now() - interval '24 hours' AND ${within} GROUP BY 1 ORDER BY 1`;

async function countOperations(
  session: Session,
  name: string,
  statement: (within: string) => string,
  scope: Scope | null,
): Promise<Record<string, number>> {
  const { text, values } = inScope(scope, 'machine_id', 1);
  const rows = await session.run<{ name: string; operations: number }>(
    preparedAs(name, scope),
    statement(text),
    [...values],
  );
  return Object.fromEntries(rows.map((row) => [row.name, row.operations]));
}
