/** The fleet at a glance: a few aggregates from one snapshot. */
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
  readonly underWay: Readonly<Record<string, number>>;
  readonly ended: Readonly<Record<string, number>>;
  readonly unhealthyUpstreams: readonly UnhealthyUpstream[];
}

/**
 * One overview at a time, however many callers there are: those who call while one is read share the next one. It starts
 * after their calls, so each caller sees its own writes.
 */
export class OverviewReader {
  readonly #reads: Coalescer<null, Overview>;

  constructor(database: Database) {
    this.#reads = new Coalescer({
      maxBatch: 1_000,
      maxUnderWay: 1,
      flush: async (callers) => {
        const overview = await readOverview(database);
        return callers.map(() => overview);
      },
      isPoisoned: () => false,
    });
  }

  read(): Promise<Overview> {
    return this.#reads.submit(null);
  }
}

function readOverview(database: Database): Promise<Overview> {
  return database.snapshot(async (session) => {
    const at = await databaseTime(session);
    return {
      at,
      counts: await countMachines(session, {
        filter: null,
        keys: LAYERS.map((layer) => groupKey(layer, 'facets')),
      }),
      attention: await readAttention(session),
      overdue: await readOverdue(session, at),
      underWay: await countOperations(session, 'count-under-way', UNDER_WAY),
      ended: await countOperations(session, 'count-ended', ENDED),
      unhealthyUpstreams: await readUnhealthyUpstreams(session),
    };
  });
}

async function databaseTime(session: Session): Promise<Date> {
  const [row] = await session.run<{ at: Date }>('database-time', 'SELECT now() AS at');
  if (!row) throw new Error('the database did not return its time');
  return row.at;
}

/** By effective state, because it has an index, and only these conditions lead to these two states. */
const ATTENTION = `
  SELECT DISTINCT ON (condition, reason) condition, reason, message, machine_id, since,
    count(*) OVER (PARTITION BY condition, reason) AS machines
  FROM (
    SELECT machine_id, ${columns.attention} AS condition, ${columns.attention_reason} AS reason,
      conditions -> ${columns.attention} ->> 'message' AS message,
      (conditions -> ${columns.attention} ->> 'lastTransition')::timestamptz AS since
    FROM machines
    WHERE ${columns.effective_state} IN ('ATTENTION', 'BLOCKED')
      AND service IS DISTINCT FROM 'deleted') AS m
  ORDER BY condition, reason, since DESC, machine_id`;

interface AttentionRow {
  condition: AttentionType;
  reason: string;
  message: string;
  machine_id: string;
  since: Date;
  machines: number;
}

async function readAttention(session: Session): Promise<AttentionGroup[]> {
  const rows = await session.run<AttentionRow & Record<string, unknown>>('count-attention', ATTENTION);
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
const OVERDUE = (Object.keys(LIMITED_LAYERS) as LimitedLayer[]).map(overduePart).join(' UNION ALL ');

function overduePart(layer: LimitedLayer): string {
  const state = columns[layer];
  const terms = STATE_TIME_LIMITS.flatMap((limit, index) =>
    limit.layer === layer
      ? [`(${state} = '${limit.state}' AND ${LIMITED_LAYERS[layer].since} < $${index + 1}::timestamptz)`]
      : [],
  );
  return `SELECT '${layer}' AS layer, ${state} AS state, count(*) AS machines FROM machines
    WHERE service IS DISTINCT FROM 'deleted' AND (${terms.join(' OR ')}) GROUP BY 2`;
}

async function readOverdue(session: Session, at: Date): Promise<OverdueGroup[]> {
  const rows = await session.run<{ layer: LimitedLayer; state: string; machines: number }>(
    'count-overdue',
    OVERDUE,
    STATE_TIME_LIMITS.map((limit) => overdueBefore(limit, at).toISOString()),
  );
  return STATE_TIME_LIMITS.flatMap((limit) => {
    const row = rows.find(({ layer, state }) => layer === limit.layer && state === limit.state);
    return row ? [{ limit, machines: row.machines }] : [];
  });
}

/** As literals, so that the planner uses the index of active operations. */
const ACTIVE = ACTIVE_STATUSES.map((status) => `'${status}'`).join(', ');

const UNDER_WAY = `
  SELECT type AS name, count(*) AS operations FROM operations
  WHERE status IN (${ACTIVE}) GROUP BY type ORDER BY type`;

const ENDED = `
  SELECT ingot_operation_phase(status) AS name, count(*) AS operations FROM operations
  WHERE finished_at > now() - interval '24 hours' GROUP BY 1 ORDER BY 1`;

async function countOperations(
  session: Session,
  name: string,
  text: string,
): Promise<Record<string, number>> {
  const rows = await session.run<{ name: string; operations: number }>(name, text);
  return Object.fromEntries(rows.map((row) => [row.name, row.operations]));
}
