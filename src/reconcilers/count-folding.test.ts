import { expect, test } from 'vitest';
import { cloneDatabase, openPool } from '../../test/parts/postgres.ts';
import { until } from '../../test/parts/until.ts';
import { Database } from '../store/database/database.ts';
import { countFolding } from './count-folding.ts';

/** More than two folds take, and not as many as make the next vacuum due. */
const IMPORTED = 12_000;

test('what an import appended is folded at once, and the table is short again', async () => {
  const cloned = await cloneDatabase();
  const database = new Database({ url: cloned.url, maxConnections: 4, onIdleError: () => {} });
  const sql = openPool(cloned.url);
  const failures: unknown[] = [];
  try {
    await sql.query(
      `INSERT INTO machines (machine_id, labels, spec, phase)
       SELECT 'm-' || n, '{}', '{}', 'READY' FROM generate_series(1, ${IMPORTED}) AS n`,
    );
    const loop = countFolding({
      database,
      watch: { passed: () => {}, failed: (_name, error) => failures.push(error) },
    });
    loop.start();
    await until(async () => {
      const { rows } = await sql.query<{ bytes: number; racks: number }>(
        `SELECT pg_relation_size('machine_value_deltas')::int AS bytes,
           (SELECT machines::int FROM machine_values WHERE list = 'rack') AS racks`,
      );
      return rows[0]?.bytes === 0 && rows[0].racks === IMPORTED;
    });
    await loop.stop();
    expect(failures).toEqual([]);
  } finally {
    await database.close();
    await sql.end();
    await cloned.drop();
  }
});
