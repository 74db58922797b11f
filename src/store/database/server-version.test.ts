// @module-tag extended: src/store/schema/migrate.test.ts runs on the oldest version.
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { migrate } from '../schema/migrate.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await cloneDatabase('template0');
});
afterEach(() => database.drop());

async function run(...statements: string[]): Promise<pg.QueryResult[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const results = [];
    for (const statement of statements) results.push(await client.query(statement));
    return results;
  } finally {
    await client.end();
  }
}

/** A function of the same name comes before the server's own. */
async function pretendToBe(number: number, name: string): Promise<void> {
  await run(
    'CREATE SCHEMA other',
    `CREATE FUNCTION other.current_setting(setting text) RETURNS text LANGUAGE sql
       AS $$ SELECT CASE setting WHEN 'server_version_num' THEN '${number}' ELSE '${name}' END $$`,
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = other, pg_catalog, public', current_database()); END $$",
  );
}

it.each([
  [120_022, '12.22 (Debian 12.22-1)'],
  [90_624, '9.6.24'],
  [190_000, '19.0'],
])(
  'refuses the server version %s, says which it found and what is supported, and changes nothing',
  async (number, name) => {
    await pretendToBe(number, name);
    await expect(migrate(database.url, { version: '0.1.0' })).rejects.toThrow(
      `the server is PostgreSQL ${name}, and Ingot supports 13 to 18: use a database on a supported server`,
    );
    const [tables] = await run(`SELECT to_regclass('public.schema_migrations') AS made`);
    expect(tables?.rows).toEqual([{ made: null }]);
  },
);

it.each([
  [130_000, '13.0'],
  [180_099, '18.99'],
])('takes %s', async (number, name) => {
  await pretendToBe(number, name);
  await migrate(database.url, { version: '0.1.0' });
});
