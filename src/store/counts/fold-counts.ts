/**
 * Folds deltas into counts. One replica at a time: it locks a row, and others skip. What it deletes and what it adds commit
 * together, so no reader sees a delta twice or not at all. Deltas that are not committed yet are left for the next fold.
 */
import type { Database, Session } from '../database/database.ts';
import { AS_MACHINE, CELL_COLUMNS, MACHINE_LIKE } from './cells.ts';

/** In one fold, so that it does not keep its locks for long. */
const MOST = 20_000;

const taken = (table: string, returning: string) => `
  DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} LIMIT ${MOST})) RETURNING ${returning}`;

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

const FOLD_RACKS = `
  WITH taken AS (${taken('machine_rack_deltas', 'rack, machines')}),
  folded AS (
    INSERT INTO machine_rack_counts AS c (rack, machines)
    SELECT rack, sum(machines) FROM taken GROUP BY rack HAVING sum(machines) <> 0
    ON CONFLICT (rack) DO UPDATE SET machines = c.machines + excluded.machines)
  SELECT count(*) AS deltas FROM taken`;

const FOLD_ENDS = `
  WITH taken AS (${taken('operation_end_deltas', 'minute, phase, operations')}),
  folded AS (
    INSERT INTO operation_end_counts AS c (minute, phase, operations)
    SELECT minute, phase, sum(operations) FROM taken GROUP BY minute, phase HAVING sum(operations) <> 0
    ON CONFLICT (minute, phase) DO UPDATE SET operations = c.operations + excluded.operations)
  SELECT count(*) AS deltas FROM taken`;

/** Cells and racks that no machine is in any more, and ends that no overview asks for. */
const TIDY = [
  ['tidy-machine-cells', 'DELETE FROM machine_cells WHERE machines = 0'],
  ['tidy-rack-counts', 'DELETE FROM machine_rack_counts WHERE machines = 0'],
  ['tidy-end-counts', `DELETE FROM operation_end_counts WHERE minute < now() - interval '49 hours'`],
] as const;

const FOLDS = [
  ['fold-machine-cells', FOLD_MACHINES],
  ['fold-rack-counts', FOLD_RACKS],
  ['fold-end-counts', FOLD_ENDS],
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
    for (const [name, statement] of FOLDS) {
      const [row] = await session.run<{ deltas: number }>(name, statement);
      deltas += row?.deltas ?? 0;
      goesOn ||= row?.deltas === MOST;
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

const DELTA_TABLES = ['machine_cell_deltas', 'machine_rack_deltas', 'operation_end_deltas'] as const;

/** Readers scan all deltas, and would scan what folds have deleted until autovacuum comes, which may take minutes. */
export async function vacuumDeltas(database: Database): Promise<void> {
  for (const table of DELTA_TABLES) await database.run('', `VACUUM ${table}`);
}

async function lockFold(session: Session): Promise<boolean> {
  const rows = await session.run(
    'lock-fold',
    'SELECT singleton FROM fleet_count_fold FOR UPDATE SKIP LOCKED',
  );
  return rows.length > 0;
}
