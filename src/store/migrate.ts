/**
 * Brings a database to the newest schema. Files in migrations/ are applied in the order of their names, each
 * once, in one transaction under an advisory lock, so that any number of replicas may start at once. A file
 * that changed after it was applied stops the start: the schema would not be what the code believes.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { checkServerVersion } from './server-version.ts';

const MIGRATION_LOCK = 7_146_203;

interface Migration {
  readonly name: string;
  readonly text: string;
  readonly digest: string;
}

function readMigrations(): Migration[] {
  const folder = new URL('migrations/', import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8');
      return { name, text, digest: createHash('sha256').update(text).digest('hex') };
    });
}

export async function migrate(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    await checkServerVersion(client);
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await client.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
      name text PRIMARY KEY, digest text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
    const applied = await client.query<{ name: string; digest: string }>(
      'SELECT name, digest FROM schema_migrations',
    );
    const digests = new Map(applied.rows.map((row) => [row.name, row.digest]));
    for (const migration of readMigrations()) await apply(client, migration, digests.get(migration.name));
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}

async function apply(
  client: pg.Client,
  migration: Migration,
  appliedDigest: string | undefined,
): Promise<void> {
  if (appliedDigest === migration.digest) return;
  if (appliedDigest !== undefined) {
    throw new Error(`migration ${migration.name} was changed after this database applied it`);
  }
  await client.query(migration.text);
  await client.query('INSERT INTO schema_migrations (name, digest) VALUES ($1, $2)', [
    migration.name,
    migration.digest,
  ]);
}
