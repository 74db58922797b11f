/** What a pass over a rollout sees: read under the lock of its row, and bounded whatever the size of the rollout. */
import type { Actor } from '../../domain/actor.ts';
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { OperationError } from '../../domain/operation/operation.ts';
import type { OperationStatus } from '../../domain/operation/operation-status.ts';
import { CANCELED } from '../../domain/rollout/decide/decide-machines.ts';
import { parallelOf } from '../../domain/rollout/decide/decide-pass.ts';
import type {
  EndedMachine,
  MachineInView,
  ObservedMachine,
  OperationResult,
  PassView,
  WaveInView,
} from '../../domain/rollout/decide/pass-view.ts';
import type { RolloutState } from '../../domain/rollout/rollout.ts';
import type { RolloutSpec } from '../../domain/rollout/spec/rollout-spec.ts';
import type { Session } from '../database/database.ts';
import { MACHINE_FILTER_COLUMNS } from '../filter/machine-columns.ts';
import { filterToSql } from '../filter/to-sql.ts';
import { ACTIVE } from '../operations/writer/write-rules.ts';
import {
  COUNT_COLUMNS,
  type CountsRow,
  countsOf,
  ROLLOUT_COLUMNS,
  type RolloutRow,
  SUMMED_COUNTS,
  specOfStored,
  type WaveRow,
} from './rollout-rows.ts';

/** More than these wait for the next pass, which follows at once. */
const PIECE = 1_000;

export interface LockedRollout {
  readonly row: RolloutRow;
  readonly view: PassView;
  /** On whose behalf operations start. */
  readonly actor: Actor;
}

export interface PassCall {
  readonly rolloutId: string;
  readonly owner: string;
  /** The filter of a step that observes. */
  readonly filterOf: (text: string) => CheckedFilter<Machine>;
  /** See PassView. */
  readonly findings: PassView['findings'];
  /** Failed machines may have been retried by hand: read them for this pass. */
  readonly recovery: 'read' | 'skip';
}

/** Null: the owner does not hold it any more, or it has ended. */
export async function lockPass(session: Session, call: PassCall): Promise<LockedRollout | null> {
  const [row] = await session.run<RolloutRow & { now: Date } & Record<string, unknown>>(
    'lock-rollout-pass',
    `SELECT ${ROLLOUT_COLUMNS}, clock_timestamp() AS now FROM rollouts
     WHERE rollout_id = $1 AND owner = $2 AND finished_at IS NULL FOR NO KEY UPDATE`,
    [call.rolloutId, call.owner],
  );
  if (!row) return null;
  const spec = specOfStored(row.spec);
  const recovered = call.recovery === 'read' ? await recoveredMachines(session, call.rolloutId) : [];
  const waves = await wavesInView(session, call.rolloutId, recovered);
  const totals = await totalsOf(session, call.rolloutId);
  const base = { spec, state: row.state, reason: row.reason, tally: row.tally, waves, totals, now: row.now };
  const under = await underWay(session, call, base);
  const groups = await groupsUnderWay(session, call.rolloutId, base);
  const pending = await pendingMachines(session, call.rolloutId, {
    ...base,
    underWay: groups.underWay,
    ended: under.ended.length,
  });
  const view: PassView = {
    ...base,
    ...under,
    ...pending,
    ...groups,
    recovered,
    findings: call.findings,
  };
  return { row, view, actor: row.actor };
}

/** What the checks before a pass need; null: it has ended. */
export async function readOpen(
  session: Session,
  rolloutId: string,
): Promise<{ readonly spec: RolloutSpec; readonly scope: string; readonly state: RolloutState } | null> {
  const [row] = await session.run<RolloutRow & Record<string, unknown>>(
    'read-open-rollout',
    `SELECT ${ROLLOUT_COLUMNS} FROM rollouts WHERE rollout_id = $1 AND finished_at IS NULL`,
    [rolloutId],
  );
  return row ? { spec: specOfStored(row.spec), scope: row.scope, state: row.state } : null;
}

type Base = Pick<PassView, 'spec' | 'state' | 'reason' | 'tally' | 'waves' | 'totals' | 'now'>;

const RECOVERED = `
  SELECT m.machine_id, m.wave, m.step, m.attempt, m.groups FROM rollout_machines m
  JOIN operations o ON o.operation_id = m.operation_id
  WHERE m.rollout_id = $1 AND m.state = 'failed' AND o.status IN ('completed', 'reconciled') LIMIT ${PIECE}`;

async function recoveredMachines(session: Session, rolloutId: string): Promise<MachineInView[]> {
  const rows = await session.run<UnderWayRow & Record<string, unknown>>('rollout-recovered', RECOVERED, [
    rolloutId,
  ]);
  return rows.map(inView);
}

async function wavesInView(
  session: Session,
  rolloutId: string,
  recovered: readonly MachineInView[],
): Promise<WaveInView[]> {
  const rows = await session.run<WaveRow & { last: number } & Record<string, unknown>>(
    'waves-in-view',
    `WITH w AS (SELECT max(number) AS last, min(number) FILTER (WHERE state = 'waiting') AS next
       FROM rollout_waves WHERE rollout_id = $1)
     SELECT number, state, gate, approval_rule, approver_role, approved_by, soaks_until, w.last, ${COUNT_COLUMNS}
     FROM rollout_waves, w
     WHERE rollout_id = $1 AND (state IN ('running', 'soaking', 'waiting_for_approval') OR number = w.next OR number = ANY($2))
     ORDER BY number`,
    [rolloutId, recovered.map(({ wave }) => wave)],
  );
  return rows.map((row) => ({
    number: row.number,
    state: row.state,
    gate: row.gate,
    approvedBy: row.approved_by,
    machines: countsOf(row),
    soaksUntil: row.soaks_until,
    isLast: row.number === row.last,
    approvedAs: row.approval_rule === '' ? null : row.approver_role,
  }));
}

async function totalsOf(session: Session, rolloutId: string) {
  const [row] = await session.run<CountsRow & Record<string, unknown>>(
    'totals-of-rollout',
    `SELECT ${SUMMED_COUNTS} FROM rollout_waves WHERE rollout_id = $1`,
    [rolloutId],
  );
  if (!row) throw new Error('an aggregate has a row');
  return countsOf(row);
}

interface UnderWayRow {
  machine_id: string;
  wave: number;
  step: number;
  attempt: number;
  groups: string[];
  operation_id: string | null;
  step_since: Date | null;
  matches_since: Date | null;
  status: OperationStatus | null;
  error: OperationError | null;
}

const UNDER_WAY_COLUMNS =
  'm.machine_id, m.wave, m.step, m.attempt, m.groups, m.operation_id, m.step_since, m.matches_since';

/** Those whose operation has ended, or whose next one is to be started: $3 are the steps that only observe. */
const UNDER_WAY = `
  SELECT ${UNDER_WAY_COLUMNS}, o.status, o.error
  FROM rollout_machines m LEFT JOIN operations o ON o.operation_id = m.operation_id
  WHERE m.rollout_id = $1 AND m.wave = ANY($2) AND m.state = 'running'
    AND (m.not_before IS NULL OR m.not_before <= clock_timestamp())
    AND CASE WHEN m.operation_id IS NULL THEN NOT m.step = ANY($3) ELSE NOT o.${ACTIVE} END LIMIT ${PIECE}`;

const OBSERVED = `
  SELECT ${UNDER_WAY_COLUMNS} FROM rollout_machines m
  WHERE m.rollout_id = $1 AND m.wave = ANY($2) AND m.state = 'running' AND m.step = ANY($3) AND m.operation_id IS NULL`;

async function underWay(
  session: Session,
  { rolloutId, filterOf }: PassCall,
  { spec, waves, now }: Base,
): Promise<Pick<PassView, 'ended' | 'observed' | 'continuing'>> {
  const observing = spec.steps.flatMap(({ verb }, index) => (verb === 'verify' ? [index] : []));
  const values = [rolloutId, waves.map(({ number }) => number), observing];
  const rows = await session.run<UnderWayRow & Record<string, unknown>>(
    'rollout-under-way',
    UNDER_WAY,
    values,
  );
  const ended: EndedMachine[] = [];
  const continuing: MachineInView[] = [];
  for (const row of rows) {
    if (row.operation_id === null) continuing.push(inView(row));
    else ended.push({ ...inView(row), result: resultOf(row) });
  }
  const atStep =
    observing.length === 0
      ? []
      : await session.run<UnderWayRow & Record<string, unknown>>('rollout-observed', OBSERVED, values);
  const observed: ObservedMachine[] = [];
  for (const [index, step] of spec.steps.entries()) {
    const here = atStep.filter((row) => row.step === index);
    if (step.verb !== 'verify' || here.length === 0) continue;
    const matching = await matchingMachines(session, filterOf(step.filter), here);
    for (const row of here)
      observed.push({
        ...inView(row),
        matches: matching.has(row.machine_id),
        matchesSince: row.matches_since,
        stepSince: row.step_since ?? now,
      });
  }
  return { ended, continuing, observed };
}

function inView(
  row: Pick<UnderWayRow, 'machine_id' | 'wave' | 'step' | 'attempt' | 'groups'>,
): MachineInView {
  const { machine_id: machineId, wave, step, attempt, groups } = row;
  return { machineId, wave, step, attempt, groups };
}

function resultOf({ status, error, operation_id }: UnderWayRow): OperationResult {
  if (status === 'completed' || status === 'reconciled') return { outcome: 'succeeded' };
  if (status === 'cancelled')
    return { outcome: 'canceled', errorCode: CANCELED, message: `${operation_id} was canceled` };
  return {
    outcome: 'failed',
    errorCode: error?.code ?? 'UNKNOWN',
    message: error?.message ?? `${operation_id} is ${status ?? 'gone'}`,
  };
}

async function matchingMachines(
  session: Session,
  filter: CheckedFilter<Machine>,
  rows: readonly UnderWayRow[],
): Promise<ReadonlySet<string>> {
  const { text, values } = filterToSql(filter, MACHINE_FILTER_COLUMNS, 2);
  const found = await session.run<{ machine_id: string }>(
    '',
    `SELECT machine_id FROM machines WHERE machine_id = ANY($1) AND (${text})`,
    [rows.map(({ machine_id }) => machine_id), ...values],
  );
  return new Set(found.map(({ machine_id }) => machine_id));
}

async function groupsUnderWay(
  session: Session,
  rolloutId: string,
  { spec, waves }: Base,
): Promise<Pick<PassView, 'underWay' | 'occupants'>> {
  if (spec.limits.length === 0) return { underWay: [], occupants: [] };
  const rows = await session.run<{ groups: string[]; machines: number; some: string[] }>(
    'rollout-groups-under-way',
    `SELECT groups, count(*)::integer AS machines, (array_agg(machine_id))[1:5] AS some FROM rollout_machines
     WHERE rollout_id = $1 AND wave = ANY($2) AND state = 'running' GROUP BY groups`,
    [rolloutId, waves.map(({ number }) => number)],
  );
  const underWay = spec.limits.map(() => new Map<string, number>());
  const occupants = spec.limits.map(() => new Map<string, string[]>());
  for (const { groups, machines, some } of rows)
    for (const [index] of spec.limits.entries()) {
      const group = groups[index] ?? '';
      underWay[index]?.set(group, (underWay[index].get(group) ?? 0) + machines);
      occupants[index]?.set(group, [...(occupants[index].get(group) ?? []), ...some].toSorted().slice(0, 5));
    }
  return { underWay, occupants };
}

const CANDIDATES = `
  SELECT machine_id, wave, step, attempt, groups FROM rollout_machines
  WHERE rollout_id = $1 AND wave = ANY($2) AND state = 'pending' AND (not_before IS NULL OR not_before <= clock_timestamp())
    AND NOT (coalesce(groups[1], '') = ANY($3)) ORDER BY wave, position LIMIT $4`;

const PUT_OFF = `
  SELECT message FROM rollout_machines WHERE rollout_id = $1 AND wave = ANY($2) AND state = 'pending'
    AND not_before > clock_timestamp() ORDER BY position LIMIT 1`;

/** As many as could start, without those whose group by the first limit is full. */
async function pendingMachines(
  session: Session,
  rolloutId: string,
  {
    spec,
    state,
    waves,
    totals,
    underWay,
    ended,
  }: Base & Pick<PassView, 'underWay'> & { readonly ended: number },
): Promise<Pick<PassView, 'candidates' | 'putOff'>> {
  const open = waves.filter((wave) => wave.state === 'running' && wave.machines.pending > 0);
  const free = Math.min(PIECE, parallelOf({ spec, totals }) - totals.running + ended);
  if (state !== 'running' || open.length === 0 || free <= 0) return { candidates: [], putOff: '' };
  const numbers = open.map(({ number }) => number);
  const limit = spec.limits[0]?.maxUnavailable;
  const full =
    limit === undefined || !('count' in limit) || ended > 0
      ? []
      : [...(underWay[0] ?? [])].filter(([, machines]) => machines >= limit.count).map(([group]) => group);
  const rows = await session.run<UnderWayRow & Record<string, unknown>>('rollout-candidates', CANDIDATES, [
    rolloutId,
    numbers,
    full,
    free,
  ]);
  if (rows.length > 0) return { candidates: rows.map(inView), putOff: '' };
  const [putOff] = await session.run<{ message: string }>('rollout-put-off', PUT_OFF, [rolloutId, numbers]);
  return { candidates: [], putOff: putOff?.message ?? '' };
}
