import { expect, it } from 'vitest';
import { cloneDatabase } from '../../../test/parts/postgres.ts';
import { Database } from '../database/database.ts';

it('ANALYZE reads no JSON of the busiest tables but labels, which lists are filtered by', async () => {
  const { url } = await cloneDatabase();
  const database = new Database({ url, maxConnections: 1, onIdleError: () => {} });
  try {
    const analyzed = await database.run(
      '',
      `SELECT attrelid::regclass::text AS table, attname AS column FROM pg_attribute
       WHERE attrelid IN ('machines'::regclass, 'operations'::regclass, 'events'::regclass)
         AND atttypid = 'jsonb'::regtype AND coalesce(attstattarget, -1) <> 0 AND NOT attisdropped`,
    );
    expect(analyzed).toEqual([{ table: 'machines', column: 'labels' }]);
  } finally {
    await database.close();
  }
});
