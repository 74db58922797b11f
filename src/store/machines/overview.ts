/** The fleet at a glance: a few aggregates that see the same moment. */
import type { AttentionType } from '../../domain/condition/attention.ts';
import {
  DWELL_LAYERS,
  DWELL_LIMITS,
  type DwellLayer,
  type DwellLimit,
  dwellEnd,
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
  /** The machine that came to it last. */
  readonly exampleMachineId: string;
  readonly exampleMessage: string;
  readonly newest: Date;
}

export interface OverdueGroup {
  readonly limit: DwellLimit;
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
 * One overview at a time, however many ask: whoever comes while one is being read shares the next one with all who came
 * meanwhile. It is begun after they asked, so each sees what it has done itself.
 */
export class OverviewReader {
  readonly #reads: Coalescer<null, Overview>;

  constructor(database: Database) {
    this.#reads = new Coalescer({
      maxBatch: 1_000,
      maxUnderWay: 1,
      flush: async (askers) => {
        const overview = await readOverview(database);
        return askers.map(() => overview);
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
    const at = await moment(session);
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

async function moment(session: Session): Promise<Date> {
  const [row] = await session.run<{ at: Date }>('moment', 'SELECT now() AS at');
  if (!row) throw new Error('the database does not tell the time');
  return row.at;
}

/** By effective state, because that has an index, and by nothing else is a machine in these two. */
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

/** A part a layer, because each has an index of its states, and most machines are in none that has a limit. */
const OVERDUE = (Object.keys(DWELL_LAYERS) as DwellLayer[]).map(overduePart).join(' UNION ALL ');

function overduePart(layer: DwellLayer): string {
  const state = columns[layer];
  const terms = DWELL_LIMITS.flatMap((limit, index) =>
    limit.layer === layer
      ? [`(${state} = '${limit.state}' AND ${DWELL_LAYERS[layer].since} < $${index + 1}::timestamptz)`]
      : [],
  );
  return `SELECT '${layer}' AS layer, ${state} AS state, count(*) AS machines FROM machines
    WHERE service IS DISTINCT FROM 'deleted' AND (${terms.join(' OR ')}) GROUP BY 2`;
}

async function readOverdue(session: Session, at: Date): Promise<OverdueGroup[]> {
  const rows = await session.run<{ layer: DwellLayer; state: string; machines: number }>(
    'count-overdue',
    OVERDUE,
    DWELL_LIMITS.map((limit) => dwellEnd(limit, at).toISOString()),
  );
  return DWELL_LIMITS.flatMap((limit) => {
    const row = rows.find(({ layer, state }) => layer === limit.layer && state === limit.state);
    return row ? [{ limit, machines: row.machines }] : [];
  });
}

/** Spelled out, so that the index of the active ones is recognised. */
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
