import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestDatabase {
  readonly url: string;
  /** Ends whatever connections are left to it, and removes it. */
  drop(): Promise<void>;
}

/** A database of the test's own, migrated and empty unless it is cloned from another template. */
export async function cloneDatabase(templateName = 'ingot_template'): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  // A copy of files: page by page, with a record of each, costs three times as much.
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${templateName} STRATEGY file_copy`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = name;
  return { url: url.href, drop: () => onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

/**
 * For a test's own statements. A pool says that it has ended before its connections have: the database that is dropped
 * next ends them with an error, which no statement waits for any more and which, without a listener, fails the run.
 */
export function openPool(url: string, max = 4): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max });
  pool.on('error', () => {});
  return pool;
}

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
