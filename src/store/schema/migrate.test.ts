import { readdirSync, rmSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrationFolder } from '../../../test/parts/migration-folder.ts';
import { cloneDatabase, type TestDatabase } from '../../../test/parts/postgres.ts';
import { until } from '../../../test/parts/until.ts';
import { type MigrationWait, migrate } from './migrate.ts';

const VERSION = '0.1.0';
const FILES = readdirSync(new URL('../migrations/', import.meta.url)).filter((name) => name.endsWith('.sql'));

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
    await Promise.all(Array.from({ length: 4 }, () => migrate(database.url, { version: VERSION })));
    expect((await applied()).map(({ name }) => name)).toEqual(FILES.toSorted());
    expect(await rows('SELECT count(*)::int AS machines FROM machines')).toEqual([{ machines: 0 }]);
  });

  it('applies nothing twice', async () => {
    const before = await applied();
    await rows(`INSERT INTO machines (machine_id, labels, spec, phase) VALUES ('m-1', '{}', '{}', 'READY')`);
    await migrate(database.url, { version: VERSION });
    expect(await applied()).toEqual(before);
    expect(await rows('SELECT machine_id FROM machines')).toEqual([{ machine_id: 'm-1' }]);
  });

  it('refuses a database that was made with another text of a migration, and leaves it as it is', async () => {
    const [first] = await applied();
    await rows(`UPDATE schema_migrations SET digest = 'other' WHERE name = $1`, [first?.name]);
    const before = await applied();
    await expect(migrate(database.url, { version: VERSION })).rejects.toThrow(
      `migration ${first?.name} was changed after this database applied it`,
    );
    expect(await applied()).toEqual(before);
    await rows(`UPDATE schema_migrations SET digest = $2 WHERE name = $1`, [first?.name, first?.digest]);
    await migrate(database.url, { version: VERSION });
  });

  it('applies all or nothing', async () => {
    const half = await cloneDatabase('template0');
    try {
      const client = new pg.Client({ connectionString: half.url });
      await client.connect();
      // In the way of what the migrations make, somewhere after their beginning.
      await client.query('CREATE TABLE tokens ()');
      await expect(migrate(half.url, { version: VERSION })).rejects.toThrow('already exists');
      const { rows: tables } = await client.query(
        `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`,
      );
      expect(tables).toEqual([{ tablename: 'tokens' }]);
      await client.end();
    } finally {
      await half.drop();
    }
  });

  it('keeps the files before the one that fails, and goes on from there', async () => {
    const folder = migrationFolder({
      '8000-first.sql': 'CREATE TABLE first ()',
      '8001-second.sql': 'SELECT 1/0',
    });
    await expect(migrate(database.url, { version: VERSION, folder })).rejects.toThrow('division by zero');
    expect((await applied()).map(({ name }) => name)).toEqual([...FILES.toSorted(), '8000-first.sql']);
    await rows(`DELETE FROM schema_migrations WHERE name = '8000-first.sql'`);
  });

  it('stores the version that each file declares, and adds the column to a schema that has none', async () => {
    await rows('ALTER TABLE schema_migrations DROP COLUMN min_version');
    const folder = migrationFolder({ '9000-declared.sql': '-- why\n-- min_version: 0.1.0\nSELECT 1;' });
    await migrate(database.url, { version: VERSION, folder });
    expect((await applied()).at(-1)).toMatchObject({ name: '9000-declared.sql', min_version: '0.1.0' });
  });

  it('runs on a schema that says so, and names what it does not know', async () => {
    const unknown: string[] = [];
    await migrate(database.url, { version: VERSION, onUnknown: (names) => unknown.push(...names) });
    expect(unknown).toEqual(['9000-declared.sql']);
    await rows(`UPDATE schema_migrations SET min_version = '99.0.0' WHERE name = '9000-declared.sql'`);
    await expect(migrate(database.url, { version: VERSION })).rejects.toThrow(
      `it has migration 9000-declared.sql, which needs Ingot 99.0.0 or later (min_version); this is ${VERSION}`,
    );
    await rows(`DELETE FROM schema_migrations WHERE name = '9000-declared.sql'`);
  });

  it('does not wait for the lock of another replica that migrates, and reports why it comes back later', async () => {
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    await other.query('BEGIN; SELECT pg_advisory_xact_lock(7146203)');
    const folder = migrationFolder({ '9001-late.sql': 'SELECT 1' });
    const waits: MigrationWait[] = [];
    await migrate(database.url, {
      version: VERSION,
      folder,
      random: () => 0,
      onWaiting: async (wait) => {
        waits.push(wait);
        const waiting = await rows(`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`);
        expect(waiting).toEqual([]);
        if (waits.length === 2) await other.query('ROLLBACK');
      },
    });
    await other.end();
    expect(waits).toEqual([
      { migration: null, blockers: [], retryMs: 250 },
      { migration: null, blockers: [], retryMs: 500 },
    ]);
    await rows(`DELETE FROM schema_migrations WHERE name = '9001-late.sql'`);
  });

  it('holds back no writer of machines while a replica of an earlier version checks its counts', async () => {
    const earlier = await cloneDatabase('template0');
    const checking = new pg.Client({ connectionString: earlier.url });
    const observer = new pg.Client({ connectionString: earlier.url });
    try {
      const folder = migrationFolder({});
      for (const file of FILES.filter((name) => name >= '0107')) rmSync(new URL(file, folder));
      await migrate(earlier.url, { version: VERSION, folder });
      await Promise.all([checking.connect(), observer.connect()]);
      await checking.query('BEGIN; LOCK TABLE fleet_count_state IN SHARE UPDATE EXCLUSIVE MODE');
      const migrated = migrate(earlier.url, { version: VERSION });
      const locks = await until(
        async () => (await observer.query(LOCKS)).rows,
        (held) => held.some(({ granted }) => !granted),
      );
      await checking.query('COMMIT');
      await migrated;
      expect(locks).toEqual([{ table: 'fleet_count_state', granted: false }]);
    } finally {
      await Promise.all([checking.end(), observer.end()]);
      await earlier.drop();
    }
  });
});

/** Of tables that writers or checks lock, what the migration has or waits for. */
const LOCKS = `SELECT relation::regclass::text AS table, granted FROM pg_locks
  WHERE relation IN ('machines'::regclass, 'fleet_count_state'::regclass) AND mode = 'ShareRowExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
