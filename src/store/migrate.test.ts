import { readdirSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../test/parts/postgres.ts';
import { migrate } from './migrate.ts';

const FILES = readdirSync(new URL('migrations/', import.meta.url)).filter((name) => name.endsWith('.sql'));

let database: TestDatabase;
beforeAll(async () => {
  database = await cloneDatabase('template0');
});
afterAll(() => database.drop());

async function rows<Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

const applied = () =>
  rows<{ name: string; digest: string; applied_at: Date }>('SELECT * FROM schema_migrations ORDER BY name');

describe('migrate', () => {
  it('brings an empty database to the newest schema, however many replicas start at once', async () => {
    await Promise.all(Array.from({ length: 4 }, () => migrate(database.url)));
    expect((await applied()).map(({ name }) => name)).toEqual(FILES.toSorted());
    expect(await rows('SELECT count(*)::int AS machines FROM machines')).toEqual([{ machines: 0 }]);
  });

  it('applies nothing twice', async () => {
    const before = await applied();
    await rows(`INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('m-1', '{}', '{}', 'READY')`);
    await migrate(database.url);
    expect(await applied()).toEqual(before);
    expect(await rows('SELECT machine_id FROM machines')).toEqual([{ machine_id: 'm-1' }]);
  });

  it('refuses a database that was made with another text of a migration, and leaves it as it is', async () => {
    const [first] = await applied();
    await rows(`UPDATE schema_migrations SET digest = 'other' WHERE name = $1`, [first?.name]);
    const before = await applied();
    await expect(migrate(database.url)).rejects.toThrow(
      `migration ${first?.name} was changed after this database applied it`,
    );
    expect(await applied()).toEqual(before);
    await rows(`UPDATE schema_migrations SET digest = $2 WHERE name = $1`, [first?.name, first?.digest]);
    await migrate(database.url);
  });

  it('applies all or nothing', async () => {
    const half = await cloneDatabase('template0');
    try {
      const client = new pg.Client({ connectionString: half.url });
      await client.connect();
      // In the way of what the migrations make, somewhere after their beginning.
      await client.query('CREATE TABLE tokens ()');
      await expect(migrate(half.url)).rejects.toThrow('already exists');
      const { rows: tables } = await client.query(
        `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`,
      );
      expect(tables).toEqual([{ tablename: 'tokens' }]);
      await client.end();
    } finally {
      await half.drop();
    }
  });
});
