// One PostgreSQL for the whole run, with a migrated template that each test file clones.
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { packageVersion } from '../../src/package-root.ts';
import { ownerOf } from '../../src/store/embedded/account.ts';
import type { Binaries } from '../../src/store/embedded/binaries.ts';
import { clusterIn } from '../../src/store/embedded/cluster.ts';
import { lockDataDir } from '../../src/store/embedded/data-dir-lock.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded/embedded-postgres.ts';
import { stopOrphan } from '../../src/store/embedded/orphan.ts';
import { migrate } from '../../src/store/schema/migrate.ts';
import { memoryDisk } from './memory-disk.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Leads to the database `postgres` of the run's server; tests take a clone of their own. */
    postgresUrl: string;
  }
}

const dirPrefix = 'ingot-test-postgres-';

/** Where there is one, in memory: each clone is a copy of 9 MB, which costs a disk ten times the processor time. */
const place = () => memoryDisk() ?? tmpdir();

/** Databases live for seconds and are never recovered: vacuum and checkpoints would only cost processor time. */
const SETTINGS = {
  autovacuum: 'off',
  checkpoint_timeout: '1h',
  max_wal_size: '1GB',
  wal_level: 'minimal',
  max_wal_senders: '0',
} as const;

export function setup(project: TestProject): Promise<() => Promise<void>> {
  return startFor(project);
}

/** Without programs: those that come with Ingot. */
export async function startFor(project: TestProject, binaries?: Binaries): Promise<() => Promise<void>> {
  await removeLeftovers();
  const dataDir = mkdtempSync(join(place(), dirPrefix));
  // Programs before 16 leave their working directory for a moment, and must be able to enter it again.
  chmodSync(dataDir, 0o755);
  const removeDataDir = () => rmSync(dataDir, { recursive: true, force: true });
  try {
    const server = await startEmbeddedPostgres({
      dataDir,
      ephemeral: true,
      databases: 'any',
      settings: SETTINGS,
      ...(binaries && { binaries }),
    });
    await makeTemplate(server.url, 'ingot_template', (url) =>
      migrate(url, { version: packageVersion() }),
    ).catch(async (error) => {
      await server.stop();
      throw error;
    });
    project.provide('postgresUrl', server.url);
    return async () => {
      await server.stop();
      removeDataDir();
    };
  } catch (error) {
    removeDataDir();
    throw error;
  }
}

async function makeTemplate(serverUrl: string, name: string, prepare: (url: string) => Promise<void>) {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${name}`);
    const url = new URL(serverUrl);
    url.pathname = name;
    await prepare(url.href);
    await leaveCatalogCache(url.href);
    // A database with open connections can't be cloned, so none may be open.
    await client.query(`ALTER DATABASE ${name} WITH IS_TEMPLATE true ALLOW_CONNECTIONS false`);
  } finally {
    await client.end();
  }
}

/** The first session after a migration writes down what every session reads of the catalog. A clone has that file too. */
async function leaveCatalogCache(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('SELECT 1');
  await client.end();
}

/** A run that was killed could not clean up: the next one does. */
async function removeLeftovers(): Promise<void> {
  for (const name of readdirSync(place()).filter((entry) => entry.startsWith(dirPrefix))) {
    const dataDir = join(place(), name);
    // Without a lock it belongs to a run that has only just started.
    if (!existsSync(join(dataDir, 'ingot.lock'))) continue;
    try {
      await lockDataDir(dataDir);
      const cluster = clusterIn(dataDir);
      await stopOrphan(cluster, ownerOf(cluster), () => {});
      rmSync(dataDir, { recursive: true, force: true });
    } catch {
      // A run in progress, or another user's.
    }
  }
}
