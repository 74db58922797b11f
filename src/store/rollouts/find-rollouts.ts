/** Rollouts and their machines, as callers read them. */
import type { Scope } from '../../domain/access/scope.ts';
import type { CheckedFilter } from '../../domain/filter/checked-filter.ts';
import type { FailureGroup, Rollout, RolloutAction, RolloutMachine } from '../../domain/rollout/rollout.ts';
import type { Database, Session } from '../database/database.ts';
import { ROLLOUT_FILTER_COLUMNS, ROLLOUT_MACHINE_FILTER_COLUMNS } from '../filter/rollout-columns.ts';
import { inScope, preparedAs, readableIn } from '../filter/scope-condition.ts';
import { filterToSql } from '../filter/to-sql.ts';
import type { Page, PageRequest } from '../machines/list.ts';
import {
  MACHINE_OF_ROLLOUT_COLUMNS,
  type MachineOfRolloutRow,
  machineOfRollout,
  ROLLOUT_COLUMNS,
  type RolloutRow,
  rolloutOf,
  WAVE_COLUMNS,
  type WaveRow,
} from './rollout-rows.ts';

const MAX_ACTIONS = 100;

/**
 * A caller with a scope reads the rollouts of its scope, and never those of the whole fleet: a rollout names machines.
 */
function visibleIn(scope: Scope | null, parameter: number) {
  const { text, values } = readableIn(scope, parameter);
  return scope === null ? { text, values } : { text: `(${text} AND scope <> '')`, values };
}

/** As of one moment. Null: there is none that a caller with this scope may read. */
export function findRollout(
  database: Database,
  rolloutId: string,
  scope: Scope | null,
): Promise<Rollout | null> {
  return database.snapshot((session) => readRollout(session, rolloutId, scope));
}

async function readRollout(
  session: Session,
  rolloutId: string,
  scope: Scope | null,
): Promise<Rollout | null> {
  const { text, values } = visibleIn(scope, 2);
  const [row] = await session.run<RolloutRow & Record<string, unknown>>(
    preparedAs('find-rollout', scope),
    `SELECT ${ROLLOUT_COLUMNS} FROM rollouts WHERE rollout_id = $1 AND ${text}`,
    [rolloutId, ...values],
  );
  if (!row) return null;
  const waves = await wavesOf(session, [rolloutId]);
  const rolledBackBy = await session.run<{ rollout_id: string }>(
    'rollouts-rolling-back',
    `SELECT rollout_id FROM rollouts WHERE rolls_back = $1 AND rolls_back <> '' ORDER BY rollout_id`,
    [rolloutId],
  );
  return rolloutOf(row, {
    waves,
    failures: await failuresOf(session, waves, rolloutId),
    actions: await actionsOf(session, rolloutId),
    rolledBackBy: rolledBackBy.map(({ rollout_id }) => rollout_id),
  });
}

function wavesOf(session: Session, rolloutIds: readonly string[]): Promise<WaveRow[]> {
  return session.run<WaveRow & Record<string, unknown>>(
    'waves-of-rollouts',
    `SELECT ${WAVE_COLUMNS} FROM rollout_waves WHERE rollout_id = ANY($1) ORDER BY rollout_id, number`,
    [rolloutIds],
  );
}

/** The most frequent first. Only the waves that have failed machines are read. */
async function failuresOf(
  session: Session,
  waves: readonly WaveRow[],
  rolloutId: string,
): Promise<FailureGroup[]> {
  const failed = waves.filter((wave) => wave.failed > 0).map(({ number }) => number);
  if (failed.length === 0) return [];
  const rows = await session.run<{ error_code: string; machines: number; first: string[] }>(
    'failures-of-rollout',
    `SELECT error_code, count(*)::integer AS machines, min(ARRAY[machine_id, message]) AS first FROM rollout_machines
     WHERE rollout_id = $1 AND wave = ANY($2) AND state = 'failed' GROUP BY error_code ORDER BY 2 DESC, 1 LIMIT 100`,
    [rolloutId, failed],
  );
  return rows.map(({ error_code, machines, first: [machineId = '', message = ''] }) => ({
    errorCode: error_code,
    machines,
    exampleMachineId: machineId,
    exampleMessage: message,
  }));
}

interface ActionRow {
  at: Date;
  action: RolloutAction['action'];
  done_by: string;
  reason: string;
  detail: string;
}

async function actionsOf(session: Session, rolloutId: string): Promise<RolloutAction[]> {
  const rows = await session.run<ActionRow & Record<string, unknown>>(
    'actions-of-rollout',
    `SELECT at, action, done_by, reason, detail FROM rollout_actions WHERE rollout_id = $1
     ORDER BY action_id DESC LIMIT ${MAX_ACTIONS}`,
    [rolloutId],
  );
  return rows
    .reverse()
    .map(({ at, action, done_by, reason, detail }) => ({ at, action, by: done_by, reason, detail }));
}

/** Newest first; without actions and failures. The filter is checked with ROLLOUT_FILTER (src/domain/filter/rollout-filter.ts). */
export async function listRollouts(session: Session, request: PageRequest<Rollout>): Promise<Page<Rollout>> {
  const { filter, scope, after, size } = request;
  const asked = filter === null ? null : filterToSql(filter, ROLLOUT_FILTER_COLUMNS, 2);
  const visible = visibleIn(scope, 2 + (asked?.values.length ?? 0));
  const rows = await session.run<RolloutRow & Record<string, unknown>>(
    '',
    `SELECT ${ROLLOUT_COLUMNS} FROM rollouts WHERE ${after === '' ? '$1 = $1' : 'rollout_id < $1'}
     AND ${asked === null ? 'TRUE' : `(${asked.text})`} AND ${visible.text} ORDER BY rollout_id DESC LIMIT ${size + 1}`,
    [after, ...(asked?.values ?? []), ...visible.values],
  );
  const page = rows.slice(0, size);
  const ids = page.map(({ rollout_id }) => rollout_id);
  const waves = await wavesOf(session, ids);
  const list = page.map((row) =>
    rolloutOf(row, {
      waves: waves.filter(({ rollout_id }) => rollout_id === row.rollout_id),
      failures: [],
      actions: [],
      rolledBackBy: [],
    }),
  );
  return { rows: list, next: rows.length > size ? (ids.at(-1) ?? null) : null };
}

export interface RolloutMachinePage extends PageRequest<RolloutMachine> {
  readonly rolloutId: string;
}

/** In the order of their turn; `after` is what a page before answered as `next`. The filter is checked with ROLLOUT_MACHINE_FILTER. */
export async function listRolloutMachines(
  session: Session,
  { rolloutId, filter, scope, after, size }: RolloutMachinePage,
): Promise<Page<RolloutMachine>> {
  const asked = machineFilter(filter, 3);
  const within = inScope(scope, 'machine_id', 3 + asked.values.length);
  const rows = await session.run<MachineOfRolloutRow & Record<string, unknown>>(
    '',
    `SELECT ${MACHINE_OF_ROLLOUT_COLUMNS} FROM rollout_machines WHERE rollout_id = $1 AND position > $2
     AND ${asked.text} AND ${within.text} ORDER BY position LIMIT ${size + 1}`,
    [rolloutId, positionOf(after), ...asked.values, ...within.values],
  );
  const page = rows.slice(0, size);
  const next = rows.length > size ? String(page.at(-1)?.position ?? 0) : null;
  return { rows: page.map(machineOfRollout), next };
}

function machineFilter(filter: CheckedFilter<RolloutMachine> | null, firstParameter: number) {
  if (filter === null) return { text: 'TRUE', values: [] };
  const { text, values } = filterToSql(filter, ROLLOUT_MACHINE_FILTER_COLUMNS, firstParameter);
  return { text: `(${text})`, values };
}

/** Anything but the key of a page is the start. */
function positionOf(after: string): number {
  return /^[0-9]{1,9}$/.test(after) ? Number(after) : 0;
}

export interface ChangesOfRollout {
  readonly rolloutId: string;
  /** After this one. */
  readonly revision: number;
  readonly limit: number;
}

/** The machines that changed after a revision of the rollout, at most so many: for streams. */
export async function machinesChangedAfter(
  session: Session,
  { rolloutId, revision, limit }: ChangesOfRollout,
): Promise<readonly RolloutMachine[]> {
  const rows = await session.run<MachineOfRolloutRow & Record<string, unknown>>(
    'machines-changed-after',
    `SELECT ${MACHINE_OF_ROLLOUT_COLUMNS} FROM rollout_machines WHERE rollout_id = $1 AND revision > $2
     ORDER BY revision LIMIT $3`,
    [rolloutId, revision, limit],
  );
  return rows.map(machineOfRollout);
}

/** The revision of a rollout, for streams that wait for the next one; null: there is none. */
export async function revisionOf(session: Session, rolloutId: string): Promise<number | null> {
  const [row] = await session.run<{ revision: number }>(
    'revision-of-rollout',
    'SELECT revision FROM rollouts WHERE rollout_id = $1',
    [rolloutId],
  );
  return row?.revision ?? null;
}
