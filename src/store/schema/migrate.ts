/**
 * Migrates a database to the newest schema. Files in migrations/ are applied in the order of their names, each once, each in
 * its own transaction under an advisory lock, so that any number of replicas may start at the same time. A file that was
 * changed after it was applied stops the start: the schema would not be what the code expects.
 *
 * Other replicas serve meanwhile, and every session queues behind one that waits for a table's lock: an ALTER TABLE behind one
 * long reader would stop them all. So no attempt waits longer than LOCK_TIMEOUT_MS for a lock; then it releases everything
 * and is repeated later. For the same reason the advisory lock is tried and never waited for. A running statement has no
 * time limit: to cancel a long rewrite and start it again would only make it longer.
 */
import pg from 'pg';
import { sleep } from '../../time/sleep.ts';
import { sessionOf } from '../database/database.ts';
import { connectToDatabase } from '../database/database-hosts.ts';
import { blockersOf } from '../database/lock-blockers.ts';
import { checkServerVersion } from '../database/server-version.ts';
import { type Migration, readMigrations } from './migration-files.ts';
import { type AppliedMigration, checkSchema, readApplied } from './schema-version.ts';

const MIGRATION_LOCK = 7_146_203;
const LOCK_TIMEOUT_MS = 300;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 5_000;
/** A replica that hangs in the middle of a migration must not keep its locks. */
const IDLE_MS = 10_000;

/** Lock timeout, deadlock. */
const BLOCKED_CODES: readonly unknown[] = ['55P03', '40P01'];

export interface MigrationWait {
  /** Null: another replica applies migrations, and may apply this one. */
  readonly migration: string | null;
  readonly blockers: readonly string[];
  readonly retryMs: number;
}

export interface MigrateOptions {
  /** The version of this Ingot. */
  readonly version: string;
  readonly onApplied?: (migration: string) => void;
  /** The schema has migrations that this version does not know, but that declare that it can run on them. */
  readonly onUnknown?: (migrations: readonly string[]) => void;
  readonly onWaiting?: (wait: MigrationWait) => Promise<void>;
  readonly signal?: AbortSignal;
  readonly random?: () => number;
  /** For tests: other files than those of this version. */
  readonly folder?: URL;
}

type Attempt = Omit<MigrationWait, 'retryMs'> | 'done';

export async function migrate(databaseUrl: string, options: MigrateOptions): Promise<void> {
  const migrations = readMigrations(options.folder);
  const { random = Math.random, signal } = options;
  for (let retry = 0; ; retry += 1) {
    const attempt = await connected(databaseUrl, async (client) => {
      await checkServerVersion(client);
      return advance({ client, databaseUrl, migrations, options });
    });
    if (attempt === 'done') return;
    const retryMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** retry) * (0.5 + random() / 2);
    await options.onWaiting?.({ ...attempt, retryMs: Math.round(retryMs) });
    await sleep(retryMs, signal);
    signal?.throwIfAborted();
  }
}

async function connected<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectToDatabase(databaseUrl, {
    connectionTimeoutMillis: 10_000,
    application_name: 'ingot-migrate',
  });
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

interface Advance {
  readonly client: pg.Client;
  readonly databaseUrl: string;
  readonly migrations: readonly Migration[];
  readonly options: MigrateOptions;
}

/** File by file until none is missing. A complete schema is only read. */
async function advance(step: Advance): Promise<Attempt> {
  for (;;) {
    const { client, migrations, options } = step;
    const applied = await readApplied(sessionOf(client));
    const unknown = checkSchema(applied, migrations, options.version);
    if (missingFrom(applied, migrations) === undefined) {
      if (unknown.length > 0) options.onUnknown?.(unknown);
      return 'done';
    }
    const attempt = await applyNext(step);
    if (attempt !== 'done') return attempt;
  }
}

function missingFrom(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): Migration | undefined {
  const names = new Set(applied.map(({ name }) => name));
  return migrations.find(({ name }) => !names.has(name));
}

async function applyNext({ client, databaseUrl, migrations, options }: Advance): Promise<Attempt> {
  await client.query('BEGIN');
  let next: Migration | undefined;
  let blockers: readonly string[] = [];
  try {
    await client.query(
      `SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}; SET LOCAL statement_timeout = 0;
       SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`,
    );
    const [session] = (
      await client.query<{ held: boolean; pid: number }>(
        'SELECT pg_try_advisory_xact_lock($1) AS held, pg_backend_pid() AS pid',
        [MIGRATION_LOCK],
      )
    ).rows;
    if (!session?.held) {
      await client.query('ROLLBACK');
      return { migration: null, blockers };
    }
    // Read again: another replica may have applied it before the lock was held.
    const migration = missingFrom(await readApplied(sessionOf(client)), migrations);
    next = migration;
    if (migration) {
      const watched = watchBlockers(databaseUrl, session.pid);
      try {
        await apply(client, migration);
      } finally {
        blockers = await watched.end();
      }
    }
    await client.query('COMMIT');
    if (migration) options.onApplied?.(migration.name);
    return 'done';
  } catch (error) {
    if (!next || !(error instanceof pg.DatabaseError && BLOCKED_CODES.includes(error.code))) throw error;
    await client.query('ROLLBACK');
    return { migration: next.name, blockers };
  }
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
    name text PRIMARY KEY, digest text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now(), min_version text)`);
  const { rows } = await client.query(
    `SELECT 1 FROM pg_attribute
     WHERE attrelid = 'schema_migrations'::regclass AND attname = 'min_version' AND NOT attisdropped`,
  );
  // Not IF NOT EXISTS, which takes the table's strongest lock even where the column exists.
  if (rows.length === 0) await client.query('ALTER TABLE schema_migrations ADD COLUMN min_version text');
  await client.query(migration.text);
  await client.query('INSERT INTO schema_migrations (name, digest, min_version) VALUES ($1, $2, $3)', [
    migration.name,
    migration.digest,
    migration.minVersion,
  ]);
}

/** On another connection: the one that waits can't query what blocks it. */
function watchBlockers(databaseUrl: string, pid: number): { end(): Promise<readonly string[]> } {
  const over = new AbortController();
  let seen: readonly string[] = [];
  const watching = connected(databaseUrl, async (observer) => {
    for (;;) {
      await sleep(LOCK_TIMEOUT_MS / 3, over.signal);
      if (over.signal.aborted) return;
      const blockers = await blockersOf(observer, pid);
      if (blockers.length > 0) seen = blockers;
    }
  }).catch((error: unknown) => {
    if (!over.signal.aborted) seen = [`a session that can't be named: ${(error as Error).message}`];
  });
  return {
    end: async () => {
      over.abort();
      await watching;
      return seen;
    },
  };
}
