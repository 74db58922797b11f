/**
 * Compares the counts with the tables that they count, and fixes what differs.
 *
 * All is read in one snapshot, in slices, so that no statement takes long. A difference is added as one more delta,
 * which is right whatever happened since: the deltas of changes after the snapshot come on top of it. Two checks at once would
 * each add the same difference, so a check locks the row of the state, which each check writes at its end: one whose snapshot does not have
 * what the check before it has fixed can't get the lock. None waits for another. The first check of a fleet that is older than the
 * counts finds all of it missing, and from then on the counts are read.
 */

import type { Database, Session } from '../database/database.ts';
import { DatabaseAway } from '../database/database-away.ts';
import { CELL_COLUMNS, CELL_OF_MACHINE } from './cells.ts';
import { checkValues } from './check-values.ts';
import { eachSlice, IN_PAGES, IN_SLICE, pageRanges } from './slices.ts';

const CELL_OF = Object.entries(CELL_OF_MACHINE)
  .map(([column, expression]) => `${expression} AS ${column}`)
  .join(', ');

/** Grouped by columns, and only then one text: the text of each machine would take four times as long as all else. */
const BY_CELL = (rows: string) => `
  SELECT to_jsonb(c)::text AS key, number FROM (
    SELECT ${CELL_COLUMNS}, sum(machines)::bigint AS number FROM ${rows} GROUP BY ${CELL_COLUMNS}) AS counted,
    LATERAL (SELECT ${Object.keys(CELL_OF_MACHINE)
      .map((column) => `counted.${column}`)
      .join(', ')}) AS c`;

/** Machines of one slice by cell, as text; and the last id of the slice. */
const COUNT_SLICE = `
  WITH slice AS MATERIALIZED (SELECT ${CELL_OF}, machine_id, 1 AS machines ${IN_SLICE})
  SELECT 'cell' AS kind, key, number FROM (${BY_CELL('slice')}) AS cells
  UNION ALL (SELECT 'last', machine_id, (SELECT count(*) FROM slice) FROM slice ORDER BY machine_id DESC LIMIT 1)`;

/** Rows of counts have the columns of machines, so the same expressions give their cells. */
const KEPT_CELLS = BY_CELL(`(SELECT ${CELL_OF}, machines FROM machine_cells) AS kept`);
const CELLS_NOT_FOLDED = BY_CELL(`(SELECT * FROM machine_cell_deltas WHERE ${IN_PAGES}) AS deltas`);

const ENDS = `
  SELECT minute::text || ' ' || phase AS key, sum(number)::bigint AS number FROM (
    SELECT date_trunc('minute', finished_at, 'UTC') AS minute, ingot_operation_phase(status) AS phase, count(*) AS number
    FROM operations WHERE finished_at > now() - interval '25 hours' AND finished_at <= now() GROUP BY 1, 2
    UNION ALL SELECT minute, phase, -operations FROM operation_end_counts
    UNION ALL SELECT minute, phase, -operations FROM operation_end_deltas) AS both_counts
  WHERE minute > now() - interval '24 hours 30 minutes' AND minute <= now() - interval '1 minute'
  GROUP BY minute, phase HAVING sum(number) <> 0`;

export interface Difference {
  readonly of: 'cell' | 'value' | 'end';
  readonly key: string;
  /** How many more there are than were counted. */
  readonly missing: number;
}

export interface CheckResult {
  /** False: the counts were not in use before. */
  readonly wereComplete: boolean;
  readonly machines: number;
  /** Of values, at most a hundred of each part of them. */
  readonly differences: readonly Difference[];
}

/**
 * `stopping` ends it between two slices; what was compared until then changes nothing. Null: it was stopped, or another replica checks or
 * has just checked.
 */
export async function checkCounts(database: Database, stopping: AbortSignal): Promise<CheckResult | null> {
  try {
    return await checkAlone(database, stopping);
  } catch (error) {
    // The state was written after the snapshot.
    if (error instanceof DatabaseAway && error.code === SERIALIZATION_FAILURE) return null;
    throw error;
  }
}

const SERIALIZATION_FAILURE = '40001';

function checkAlone(database: Database, stopping: AbortSignal): Promise<CheckResult | null> {
  return database.transaction(async (session) => {
    await session.run('', 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    const [state] = await session.run<{ complete: boolean }>(
      'lock-count-state',
      'SELECT complete FROM machine_count_state FOR UPDATE SKIP LOCKED',
    );
    if (state === undefined) return null;
    const wereComplete = state.complete;
    const found = await countMachines(session, stopping);
    const kept = await keptCells(session, stopping);
    const values = await checkValues(session, { wereComplete, stopping });
    if (found === null || kept === null || values === null) return null;
    const differences = [
      ...differing(found.cells, kept),
      ...values,
      ...[...(await numbers(session, 'differing-ends', ENDS))].map(([key, missing]) => ({
        of: 'end' as const,
        key,
        missing,
      })),
    ];
    for (const of of ['cell', 'end'] as const) {
      const fixed = differences.filter((difference) => difference.of === of);
      if (fixed.length > 0) await session.run('', FIX[of], [JSON.stringify(fixed)]);
    }
    await session.run(
      'counts-checked',
      `UPDATE machine_count_state SET complete = true, checked_at = now(), differences = differences + $1`,
      [wereComplete ? differences.length : 0],
    );
    return { wereComplete, machines: found.machines, differences };
  });
}

const FIX = {
  cell: `INSERT INTO machine_cell_deltas (${CELL_COLUMNS}, machines)
    SELECT ${Object.keys(CELL_OF_MACHINE)
      .map((column) => `(jsonb_populate_record(NULL::machine_cell_deltas, key::jsonb)).${column}`)
      .join(', ')}, missing
    FROM jsonb_to_recordset($1::jsonb) AS d(key text, missing integer)`,
  end: `INSERT INTO operation_end_deltas (minute, phase, operations)
    SELECT substring(key, '^(.*) ')::timestamptz, substring(key, ' ([A-Z]+)$'), missing
    FROM jsonb_to_recordset($1::jsonb) AS d(key text, missing integer)`,
} as const satisfies Record<Exclude<Difference['of'], 'value'>, string>;

interface Counted {
  readonly cells: Map<string, number>;
  readonly machines: number;
}

async function countMachines(session: Session, stopping: AbortSignal): Promise<Counted | null> {
  const cells = new Map<string, number>();
  let machines = 0;
  const isOver = await eachSlice(stopping, async (after) => {
    let last: string | null = null;
    const rows = await session.run<{ kind: 'cell' | 'last'; key: string; number: number }>('', COUNT_SLICE, [
      after,
    ]);
    for (const { kind, key, number } of rows)
      if (kind === 'last') {
        machines += number;
        last = key;
      } else cells.set(key, (cells.get(key) ?? 0) + number);
    return last;
  });
  return isOver ? { cells, machines } : null;
}

async function keptCells(session: Session, stopping: AbortSignal): Promise<Map<string, number> | null> {
  const cells = await numbers(session, 'kept-cells', KEPT_CELLS);
  for (const pages of await pageRanges(session, 'machine_cell_deltas')) {
    if (stopping.aborted) return null;
    for (const [key, number] of await numbers(session, '', CELLS_NOT_FOLDED, pages))
      cells.set(key, (cells.get(key) ?? 0) + number);
  }
  return cells;
}

async function numbers(
  session: Session,
  name: string,
  statement: string,
  values: readonly string[] = [],
): Promise<Map<string, number>> {
  const rows = await session.run<{ key: string; number: number }>(name, statement, values);
  return new Map(rows.map(({ key, number }) => [key, number]));
}

function differing(found: ReadonlyMap<string, number>, kept: ReadonlyMap<string, number>): Difference[] {
  const keys = new Set([...found.keys(), ...kept.keys()]);
  return [...keys].flatMap((key) => {
    const missing = (found.get(key) ?? 0) - (kept.get(key) ?? 0);
    return missing === 0 ? [] : [{ of: 'cell' as const, key, missing }];
  });
}
