import { expect, test } from 'vitest';
import { cloneDatabase, openPool } from '../../test/parts/postgres.ts';
import { until } from '../../test/parts/until.ts';
import type { CheckResult } from '../store/counts/check-counts.ts';
import { Database } from '../store/database/database.ts';
import { countChecking } from './count-checking.ts';
import { countFolding } from './count-folding.ts';

/** In this database: others of the same server have tables of the same number. */
const WAITS_FOR_OPERATIONS = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'operations'::regclass
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

test('replicas count a fleet once, and go on folding, however long it takes', async () => {
  const cloned = await cloneDatabase();
  const database = new Database({ url: cloned.url, maxConnections: 8, onIdleError: () => {} });
  const sql = openPool(cloned.url);
  const blocker = await sql.connect();
  const checked: CheckResult[] = [];
  const failures: unknown[] = [];
  const watch = { passed: () => {}, failed: (_name: string, error: unknown) => failures.push(error) };
  const loops = [1, 2].flatMap(() => [
    countChecking({ database, watch, onChecked: (result) => checked.push(result) }),
    countFolding({ database, watch }),
  ]);
  const insert = (id: string) =>
    sql.query(`INSERT INTO machines (machine_id, labels, spec, phase) VALUES ($1, '{}', '{}', 'READY')`, [
      id,
    ]);
  const dueNow = () => sql.query(`UPDATE machine_count_claim SET claimed_at = '-infinity'`);
  const isClaimed = async () =>
    (await sql.query(`SELECT FROM machine_count_claim WHERE claimed_at > now() - interval '1 hour'`))
      .rowCount === 1;
  try {
    await sql.query('ALTER TABLE machines DISABLE TRIGGER USER');
    await insert('m-1');
    await sql.query('ALTER TABLE machines ENABLE TRIGGER USER');
    await sql.query('UPDATE machine_count_state SET complete = false');
    await dueNow();
    // A check reads operations last.
    await blocker.query('BEGIN; LOCK TABLE operations IN ACCESS EXCLUSIVE MODE');
    for (const loop of loops) loop.start();
    await until(async () => (await sql.query(WAITS_FOR_OPERATIONS)).rowCount === 1);
    await dueNow();
    await until(isClaimed);
    await insert('m-2');
    await until(async () => (await sql.query('SELECT FROM machine_cells')).rowCount === 1);
    expect(checked).toEqual([]);
    await blocker.query('COMMIT');
    await until(() => checked.length === 1);
    const { rows } = await sql.query('SELECT complete FROM machine_count_state');
    expect(rows).toEqual([{ complete: true }]);
    expect(checked[0]).toMatchObject({ wereComplete: false, machines: 1 });
    expect(failures).toEqual([]);
  } finally {
    await blocker.query('ROLLBACK');
    blocker.release();
    await Promise.all(loops.map((loop) => loop.stop()));
    await database.close();
    await sql.end();
    await cloned.drop();
  }
});
