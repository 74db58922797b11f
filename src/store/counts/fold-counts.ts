/**
 * Folds deltas into counts. One replica at a time: it locks a row, and others skip. What it deletes and what it adds commit
 * together, so no reader sees a delta twice or not at all. Deltas that are not committed yet are left for the next fold.
 */
import type { Database, Session } from '../database/database.ts';
import { AS_MACHINE, CELL_COLUMNS, MACHINE_LIKE } from './cells.ts';
import { KEY_OF_VALUE } from './value-counts.ts';

/** In one fold, so that it does not keep its locks for long. */
const MOST = 20_000;
/** Of values, each of which changes several lists. */
const MOST_VALUES = 5_000;
/** More than the folds between two of these can leave. */
const MOST_TIDIED = 100_000;

const taken = (table: string, returning: string, most = MOST) => `
  DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} LIMIT ${most})) RETURNING ${returning}`;

/** The key is a digest of all columns of the cell, because an index of them all would be as large as the table. */
const FOLD_MACHINES = `
  WITH taken AS (${taken('machine_cell_deltas', '*')}),
  changed AS (
    SELECT ${CELL_COLUMNS}, sum(machines) AS machines FROM taken GROUP BY ${CELL_COLUMNS} HAVING sum(machines) <> 0),
  folded AS (
    INSERT INTO machine_cells AS c (cell, ${MACHINE_LIKE}, machines)
    SELECT sha256(convert_to(ROW(${CELL_COLUMNS})::text, 'UTF8')), ${AS_MACHINE}, machines FROM changed
    ON CONFLICT (cell) DO UPDATE SET machines = c.machines + excluded.machines)
  SELECT count(*) AS deltas FROM taken`;

const FOLD_VALUES = `
  WITH taken AS (${taken('machine_value_deltas', 'machine_value_deltas AS delta', MOST_VALUES)}),
  changed AS (
    SELECT v.list, v.value, sum((delta).machines) AS machines FROM taken CROSS JOIN LATERAL ingot_values_of(delta) v
    GROUP BY v.list, v.value HAVING sum((delta).machines) <> 0),
  folded AS (
    INSERT INTO machine_values AS c (key, list, value, machines)
    SELECT ${KEY_OF_VALUE}, list, value, machines FROM changed
    ON CONFLICT (key) DO UPDATE SET machines = c.machines + excluded.machines)
  SELECT count(*) AS deltas FROM taken`;

const FOLD_ENDS = `
  WITH taken AS (${taken('operation_end_deltas', 'minute, phase, operations')}),
  folded AS (
    INSERT INTO operation_end_counts AS c (minute, phase, operations)
    SELECT minute, phase, sum(operations) FROM taken GROUP BY minute, phase HAVING sum(operations) <> 0
    ON CONFLICT (minute, phase) DO UPDATE SET operations = c.operations + excluded.operations)
  SELECT count(*) AS deltas FROM taken`;

/** In parts, because a fleet that is removed leaves as many values as it had machines. */
export const TIDY_VALUES = `
  DELETE FROM machine_values WHERE ctid = ANY(ARRAY(SELECT ctid FROM machine_values WHERE machines = 0 LIMIT ${MOST_TIDIED}))`;

/** Cells and values that no machine is in any more, and ends that no overview asks for. */
const TIDY = [
  ['tidy-machine-cells', 'DELETE FROM machine_cells WHERE machines = 0'],
  ['tidy-machine-values', TIDY_VALUES],
  ['tidy-end-counts', `DELETE FROM operation_end_counts WHERE minute < now() - interval '49 hours'`],
] as const;

const FOLDS = [
  ['fold-machine-cells', FOLD_MACHINES, MOST],
  ['fold-machine-values', FOLD_VALUES, MOST_VALUES],
  ['fold-end-counts', FOLD_ENDS, MOST],
] as const;

export interface Folded {
  readonly deltas: number;
  /** There are more. */
  readonly goesOn: boolean;
}

/** Null: another replica folds. */
export function foldCounts(database: Database): Promise<Folded | null> {
  return database.transaction(async (session) => {
    if (!(await lockFold(session))) return null;
    let deltas = 0;
    let goesOn = false;
    for (const [name, statement, most] of FOLDS) {
      const [row] = await session.run<{ deltas: number }>(name, statement);
      deltas += row?.deltas ?? 0;
      goesOn ||= row?.deltas === most;
    }
    return { deltas, goesOn };
  });
}

export async function tidyCounts(database: Database): Promise<void> {
  await database.transaction(async (session) => {
    if (!(await lockFold(session))) return;
    for (const [name, statement] of TIDY) await session.run(name, statement);
  });
}

/**
 * Readers scan all deltas, and would scan what folds have deleted until autovacuum comes, which may take minutes. Deltas of values are rare, but
 * an import or the first check of a fleet leaves as many as there are machines, and the table would stay as long as they made it; the
 * lock that makes it shorter is not waited for. The others are filled again within the second.
 */
const VACUUMS = [
  'VACUUM (SKIP_LOCKED) machine_cell_deltas',
  'VACUUM (TRUNCATE) machine_value_deltas',
  'VACUUM (SKIP_LOCKED) operation_end_deltas',
] as const;

export async function vacuumDeltas(database: Database): Promise<void> {
  for (const statement of VACUUMS) await database.run('', statement);
}

/** Longer than a busy fleet keeps them: readers would scan empty pages for more than a millisecond. */
const TOO_LONG = 2_000_000;

const LONG_TABLES = `
  SELECT relname AS table FROM pg_class
  WHERE oid IN ('machine_cell_deltas'::regclass, 'machine_value_deltas'::regclass, 'operation_end_deltas'::regclass)
    AND pg_relation_size(oid) > ${TOO_LONG}`;

/**
 * Makes short again what a backlog has made long. It tries for five seconds to get a lock that no writer has, and writers that come then do
 * not wait for it. So it is none of the folds, which go on, and it is tried again.
 */
export async function shortenDeltas(database: Database): Promise<void> {
  const tables = await database.run<{ table: string }>('long-deltas', LONG_TABLES);
  for (const { table } of tables) await database.run('', `VACUUM (TRUNCATE, SKIP_LOCKED) ${table}`);
}

async function lockFold(session: Session): Promise<boolean> {
  const rows = await session.run(
    'lock-fold',
    'SELECT singleton FROM fleet_count_fold FOR UPDATE SKIP LOCKED',
  );
  return rows.length > 0;
}
