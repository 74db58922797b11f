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
import type { Stall } from '../../domain/operation/stall.ts';
import { areCountsComplete } from '../counts/count-state.ts';
import { countEnds } from '../counts/operation-ends.ts';
import { Coalescer } from '../database/coalescer.ts';
import type { Database, Session } from '../database/database.ts';
import { MACHINE_FILTER_COLUMNS } from '../filter/machine-columns.ts';
import { idsInScope, inScope, preparedAs, scopeCondition } from '../filter/scope-condition.ts';
import type { StalledOperations } from '../operations/stalled-operations.ts';
import { countOpenRollouts } from '../rollouts/rollouts-at-a-glance.ts';
import { type HeadlineGroup, readHeadlines, timeOrLastChange } from './count-headlines.ts';
import { countMachines, type FacetCount, type MachineCounts } from './count-machines.ts';
import { type GroupName, groupKey, overviewKey } from './machine-keys.ts';
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

const LAYERS_WITH_LIMITS = Object.keys(LIMITED_LAYERS) as LimitedLayer[];

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
  /** Machines that need attention, by the rule that decides their headline. */
  readonly headlines: readonly HeadlineGroup[];
  /** The one that started first is first. */
  readonly stalled: readonly Stall[];
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
  readonly #stalls: StalledOperations;
  readonly #reads: Coalescer<null, Overview>;

  constructor(database: Database, stalls: StalledOperations) {
    this.#database = database;
    this.#stalls = stalls;
    this.#reads = new Coalescer({
      maxBatch: 1_000,
      maxUnderWay: 1,
      flush: async (callers) => {
        const overview = await readOverview(database, stalls, null);
        return callers.map(() => overview);
      },
      isPoisoned: () => false,
    });
  }

  read(scope: Scope | null): Promise<Overview> {
    return scope === null ? this.#reads.submit(null) : readOverview(this.#database, this.#stalls, scope);
  }
}

/** More reasons than conditions will ever have. */
const MOST_GROUPS = 1_000;
const KEYS = [
  ...LAYERS.map((layer) => groupKey(layer, 'facets')),
  overviewKey('operation'),
  overviewKey('attention'),
  overviewKey('attention_headline'),
];

async function readOverview(
  database: Database,
  stalls: StalledOperations,
  scope: Scope | null,
): Promise<Overview> {
  const slow = [...(await stalls.read(scope)).values()];
  return database.snapshot(async (session) => {
    const at = await databaseTime(session);
    const { total, facets } = await countMachines(session, {
      ...{ filter: null, scope, keys: KEYS, most: MOST_GROUPS, preparedName: 'count-overview' },
    });
    const countedBy = (name: string) => facets.find(({ field }) => field === name)?.values ?? [];
    return {
      at,
      counts: { total, facets: facets.slice(0, LAYERS.length) },
      attention: await readAttention(session, scope, countedBy('attention')),
      headlines: await readHeadlines(session, scope, { counted: countedBy('attention_headline'), at }),
      stalled: await stalledIn(session, scope, slow),
      overdue: await readOverdue(session, at, scope),
      maintenanceOverdue: await countMaintenanceOverdue(session, at, scope),
      underWay: Object.fromEntries(
        countedBy('operation').flatMap(({ value, machines }) => (value === '' ? [] : [[value, machines]])),
      ),
      ended: await countEnded(session, scope),
      unhealthyUpstreams: await readUnhealthyUpstreams(session, scope),
      rollouts: await countOpenRollouts(session, scope),
    };
  });
}

async function stalledIn(
  session: Session,
  scope: Scope | null,
  stalls: readonly Stall[],
): Promise<readonly Stall[]> {
  const ids = stalls.map(({ machineId }) => machineId);
  const visible = scope === null ? null : await idsInScope(session, scope, ids);
  return stalls
    .filter(({ machineId }) => visible?.has(machineId) ?? true)
    .sort((left, right) => left.startedAt.getTime() - right.startedAt.getTime());
}

async function databaseTime(session: Session): Promise<Date> {
  const [row] = await session.run<{ at: Date }>('database-time', 'SELECT now() AS at');
  if (!row) throw new Error('the database did not return its time');
  return row.at;
}

/** The newest machine of each group. Its index has these expressions, and only these conditions lead to these two states. */
const examples = (within: string) => `
  SELECT g.condition, g.reason, n.message, n.machine_id, n.since
  FROM unnest($1::text[], $2::text[]) AS g(condition, reason) CROSS JOIN LATERAL (
    SELECT machine_id, conditions -> ${columns.attention} ->> 'message' AS message,
      ${timeOrLastChange(`conditions -> ${columns.attention} ->> 'lastTransition'`)}
    FROM machines
    WHERE ${columns.attention} = g.condition AND coalesce(${columns.attention_reason}, '') = g.reason
      AND ${columns.effective_state} IN ('ATTENTION', 'BLOCKED') AND service IS DISTINCT FROM 'deleted' AND ${within}
    ORDER BY (conditions -> ${columns.attention} ->> 'lastTransition') COLLATE "C" DESC, machine_id LIMIT 1) AS n`;

interface ExampleRow extends Record<string, unknown> {
  condition: AttentionType;
  reason: string;
  message: string;
  machine_id: string;
  since: Date;
}

async function readAttention(
  session: Session,
  scope: Scope | null,
  counted: FacetCount['values'],
): Promise<AttentionGroup[]> {
  const groups = counted.flatMap(({ value, machines }) => {
    const [condition = '', ...reason] = value.split(' ');
    return condition === '' ? [] : [{ condition, reason: reason.join(' '), machines }];
  });
  if (groups.length === 0) return [];
  const { text, values } = scopeCondition(scope, 3);
  const rows = await session.run<ExampleRow>(preparedAs('attention-examples', scope), examples(text), [
    groups.map(({ condition }) => condition),
    groups.map(({ reason }) => reason),
    ...values,
  ]);
  return rows
    .map((row) => ({
      condition: row.condition,
      reason: row.reason,
      machines:
        groups.find(({ condition, reason }) => condition === row.condition && reason === row.reason)
          ?.machines ?? 0,
      exampleMachineId: row.machine_id,
      exampleMessage: row.message,
      newest: row.since,
    }))
    .sort((left, right) => right.machines - left.machines);
}

/**
 * One part for each layer, because each has an index of its states and times. It names the states, as the index does: the planner does not
 * see them in the parameter.
 */
const overdue = (within: string) => {
  const counts = LAYERS_WITH_LIMITS.map((layer) => {
    const states = STATE_TIME_LIMITS.filter((limit) => limit.layer === layer).map(
      ({ state }) => `'${state}'`,
    );
    return `WHEN '${layer}' THEN (SELECT count(*) FROM machines
      WHERE ${columns[layer]} IN (${states.join(', ')}) AND ${columns[layer]} = l.state
        AND ${LIMITED_LAYERS[layer].since} < l.before AND service IS DISTINCT FROM 'deleted' AND ${within})`;
  });
  return `SELECT l.layer, l.state, CASE l.layer ${counts.join(' ')} END AS machines
    FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS l(layer, state, before)`;
};

async function readOverdue(session: Session, at: Date, scope: Scope | null): Promise<OverdueGroup[]> {
  const { text, values } = scopeCondition(scope, 4);
  const rows = await session.run<{ layer: LimitedLayer; state: string; machines: number }>(
    preparedAs('count-overdue', scope),
    overdue(text),
    [
      STATE_TIME_LIMITS.map(({ layer }) => layer),
      STATE_TIME_LIMITS.map(({ state }) => state),
      STATE_TIME_LIMITS.map((limit) => overdueBefore(limit, at).toISOString()),
      ...values,
    ],
  );
  return STATE_TIME_LIMITS.flatMap((limit) => {
    const row = rows.find(({ layer, state }) => layer === limit.layer && state === limit.state);
    return row && row.machines > 0 ? [{ limit, machines: row.machines }] : [];
  });
}

/** Ends are texts of one form, which sort as times do, so an index has them. */
async function countMaintenanceOverdue(session: Session, at: Date, scope: Scope | null): Promise<number> {
  const { text, values } = scopeCondition(scope, 2);
  const [row] = await session.run<{ machines: number }>(
    preparedAs('count-maintenance-overdue', scope),
    `SELECT count(*) AS machines FROM machines
     WHERE phase = 'MAINTENANCE' AND (maintenance ->> 'until') COLLATE "C" <= $1 AND service IS DISTINCT FROM 'deleted'
       AND ${text}`,
    [at.toISOString(), ...values],
  );
  return row?.machines ?? 0;
}

const ENDED = (within: string) => `
  SELECT ingot_operation_phase(status) AS name, count(*) AS operations FROM operations
  WHERE finished_at > now() - interval '24 hours' AND ${within} GROUP BY 1 ORDER BY 1`;

/** Of the whole fleet by its counts; of a scope one by one. */
async function countEnded(session: Session, scope: Scope | null): Promise<Record<string, number>> {
  if (scope === null && (await areCountsComplete(session))) return countEnds(session);
  const { text, values } = inScope(scope, 'machine_id', 1);
  const rows = await session.run<{ name: string; operations: number }>(
    preparedAs('count-ended', scope),
    ENDED(text),
    [...values],
  );
  return Object.fromEntries(rows.map((row) => [row.name, row.operations]));
}
