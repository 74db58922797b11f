/**
 * Compares the counts with the tables that they count, and fixes what differs.
 *
 * All is read in one snapshot, machines in slices, so that no statement takes long. A difference is added as one more delta,
 * which is right whatever happened since: the deltas of changes after the snapshot come on top of it. Two checks at once would
 * each add the same difference, so a check locks the row of the state, which each check writes at its end: one whose snapshot does not have
 * what the check before it has fixed can't get the lock. None waits for another. The first check of a fleet that is older than the
 * counts finds all of it missing, and from then on the counts are read.
 */

import type { Database, Session } from '../database/database.ts';
import { DatabaseAway } from '../database/database-away.ts';
import { CELL_COLUMNS, CELL_OF_MACHINE } from './cells.ts';

const SLICE = 20_000;

const CELL_OF = Object.entries(CELL_OF_MACHINE)
  .map(([column, expression]) => `${expression} AS ${column}`)
  .join(', ');

/** Values are as many as machines may be, so they are counted where they need no memory of the server. */
const VALUES_FOUND = `CREATE TEMPORARY TABLE values_found (list text, value text, machines bigint) ON COMMIT DROP`;

/** Machines of one slice by cell, as text; and the last id of the slice. */
const COUNT_SLICE = `
  WITH slice AS MATERIALIZED (
    SELECT ${CELL_OF}, machine_id, ROW(ingot_rack(spec, labels), labels, spec ->> 'provider', nullif(spec ->> 'customer_id', ''),
      nullif((spec -> 'location') ->> 'site', ''), pool, NULL, NULL, 1)::machine_value_deltas AS of_values
    FROM machines WHERE machine_id > $1 ORDER BY machine_id LIMIT ${SLICE}),
  found AS (
    INSERT INTO values_found SELECT v.list, v.value, count(*) FROM slice CROSS JOIN LATERAL ingot_values_of(of_values) v
    WHERE service IS DISTINCT FROM 'deleted' GROUP BY 1, 2)
  SELECT 'cell' AS kind, to_jsonb(c)::text AS key, count(*) AS number
    FROM (SELECT ${CELL_COLUMNS} FROM slice) AS c GROUP BY 2
  UNION ALL (SELECT 'last', machine_id, (SELECT count(*) FROM slice) FROM slice ORDER BY machine_id DESC LIMIT 1)`;

/** Rows of counts have the columns of machines, so the same expressions give their cells. */
const KEPT_CELLS = `
  SELECT to_jsonb(c)::text AS key, sum(machines)::bigint AS number FROM (
    SELECT ${CELL_OF}, machines FROM machine_cells
    UNION ALL SELECT ${CELL_COLUMNS}, machines FROM machine_cell_deltas) AS kept,
    LATERAL (SELECT ${Object.keys(CELL_OF_MACHINE)
      .map((column) => `kept.${column}`)
      .join(', ')}) AS c
  GROUP BY 1`;

/** In parts, so that no statement takes long. A difference is fixed at once, and the first of each part are reported. */
const VALUE_PARTS = 16;
const FIX_VALUES = `
  WITH fixed AS (
    INSERT INTO machine_value_deltas (list, value, machines)
    SELECT list, value, sum(machines) FROM (
      SELECT list, value, machines FROM values_found
      UNION ALL SELECT list, value, -machines FROM machine_values
      UNION ALL SELECT v.list, v.value, -d.machines FROM machine_value_deltas d CROSS JOIN LATERAL ingot_values_of(d) v) AS both_counts
    WHERE hashtext(list || value) & ${VALUE_PARTS - 1} = $1 GROUP BY list, value HAVING sum(machines) <> 0
    RETURNING list, value, machines)
  SELECT list || ' ' || value AS key, machines AS missing FROM fixed LIMIT 100`;

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
    await session.run('', VALUES_FOUND);
    const found = await countAll(session, stopping);
    if (found === null) return null;
    const differences = [
      ...differing(found.cells, await numbers(session, 'kept-cells', KEPT_CELLS)),
      ...(await fixedValues(session)),
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

async function countAll(session: Session, stopping: AbortSignal): Promise<Counted | null> {
  const cells = new Map<string, number>();
  let machines = 0;
  for (let after: string | undefined = ''; after !== undefined; ) {
    if (stopping.aborted) return null;
    // Not prepared: its temporary table is another one each time.
    const rows: Array<{ kind: 'cell' | 'last'; key: string; number: number }> = await session.run(
      '',
      COUNT_SLICE,
      [after],
    );
    after = undefined;
    for (const { kind, key, number } of rows) {
      if (kind === 'last') {
        machines += number;
        after = key;
      } else cells.set(key, (cells.get(key) ?? 0) + number);
    }
  }
  return { cells, machines };
}

async function numbers(session: Session, name: string, statement: string): Promise<Map<string, number>> {
  const rows = await session.run<{ key: string; number: number }>(name, statement);
  return new Map(rows.map(({ key, number }) => [key, number]));
}

async function fixedValues(session: Session): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (let part = 0; part < VALUE_PARTS; part += 1)
    for (const { key, missing } of await session.run<{ key: string; missing: number }>('', FIX_VALUES, [
      part,
    ]))
      differences.push({ of: 'value', key, missing });
  return differences;
}

function differing(found: ReadonlyMap<string, number>, kept: ReadonlyMap<string, number>): Difference[] {
  const keys = new Set([...found.keys(), ...kept.keys()]);
  return [...keys].flatMap((key) => {
    const missing = (found.get(key) ?? 0) - (kept.get(key) ?? 0);
    return missing === 0 ? [] : [{ of: 'cell' as const, key, missing }];
  });
}
