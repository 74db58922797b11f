// @module-tag extended: who-may-connect.test.ts has the same directory when it is new.
/** A data directory of an earlier version: it belongs to nobody, asks for no password, and the superuser owns everything. */
import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packageVersion } from '../../package-root.ts';
import { migrate } from '../schema/migrate.ts';
import { passwordFile } from './access.ts';
import { findBinaries } from './binaries.ts';
import { clusterIn } from './cluster.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';
import { dataArgument, spawnProgram, untilExit } from './program.ts';
import { makeSocketDir, removeSocketDir, socketUrl } from './socket-dir.ts';

const isRoot = process.getuid?.() === 0;
const EARLIER = isRoot ? { uid: 65534, gid: 65534 } : undefined;

let base: string;
let dataDir: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'ingot-upgrade-test-'));
  dataDir = join(base, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
});
afterEach(() => rmSync(base, { recursive: true }));

async function asEarlierVersion(work: (url: string) => Promise<void>): Promise<void> {
  const cluster = clusterIn(dataDir);
  mkdirSync(cluster, { mode: 0o700 });
  if (EARLIER) execFileSync('chown', [`${EARLIER.uid}:${EARLIER.gid}`, cluster]);
  const binaries = await findBinaries(EARLIER);
  const program = { cluster, account: EARLIER, onLine: () => {} };
  const data = ['-D', dataArgument(cluster)];
  const initdb = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  expect(
    await untilExit(spawnProgram({ ...program, file: binaries.initdb, args: [...data, ...initdb] })),
  ).toEqual({
    code: 0,
    signal: null,
  });
  const socketDir = makeSocketDir(EARLIER);
  const options = ['-k', socketDir, '-c', 'listen_addresses=', '-c', 'fsync=off'];
  const server = spawnProgram({ ...program, file: binaries.postgres, args: [...data, ...options] });
  const url = new URL(socketUrl(socketDir, ''));
  url.username = 'postgres';
  try {
    await answered(url.href);
    await work(url.href);
  } finally {
    server.kill('SIGINT');
    await untilExit(server);
    removeSocketDir(socketDir);
  }
}

async function answered(url: string): Promise<void> {
  await expect.poll(() => query(url, 'SELECT 1').catch(() => null), { timeout: 20_000 }).toEqual([1]);
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows.flat();
  } finally {
    await client.end().catch(() => {});
  }
}

const OWNERS = `SELECT DISTINCT owner FROM (
  SELECT relowner::regrole::text AS owner FROM pg_class WHERE relnamespace = 'public'::regnamespace
  UNION ALL SELECT proowner::regrole::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT typowner::regrole::text FROM pg_type WHERE typnamespace = 'public'::regnamespace
  UNION ALL SELECT datdba::regrole::text FROM pg_database WHERE datname = 'postgres') AS owned`;

test('keeps its data, and gets an account, a role and a password', async () => {
  await asEarlierVersion(async (url) => {
    await migrate(url, { version: packageVersion() });
    for (const kind of [`TYPE mood AS ENUM ('calm')`, 'DOMAIN small AS int', 'SEQUENCE loose'])
      await query(url, `CREATE ${kind}`);
    await query(url, 'CREATE TABLE note (id serial, n small, m mood)');
    await query(url, `INSERT INTO note (n, m) VALUES (42, 'calm')`);
  });
  const server = await startEmbeddedPostgres({ dataDir, ephemeral: true });
  try {
    expect(await query(server.url, 'SELECT n, m FROM note')).toEqual([42, 'calm']);
    expect(await query(server.url, OWNERS)).toEqual(['ingot']);
    expect(await query(server.url, `SELECT rolname FROM pg_roles WHERE rolsuper`)).toEqual(['postgres']);
    await migrate(server.url, { version: packageVersion() });
    await query(server.url, 'ALTER TABLE note ADD COLUMN more text');
    expect(statSync(passwordFile(dataDir)).mode & 0o777).toBe(0o600);
    expect(server.url).toContain('ingot:');
  } finally {
    await server.stop();
  }
});

test.runIf(isRoot)('its files get a new owner, except what is not PostgreSQL’s', async () => {
  await asEarlierVersion(async () => {});
  const cluster = clusterIn(dataDir);
  const outside = join(base, 'outside');
  writeFileSync(outside, 'root’s');
  symlinkSync(outside, join(cluster, 'link'));
  const server = await startEmbeddedPostgres({ dataDir, ephemeral: true });
  await server.stop();
  const account = Number(execFileSync('id', ['-u', 'ingot-postgres']));
  const entries = readdirSync(cluster, { recursive: true, encoding: 'utf8' }).map((name) =>
    join(cluster, name),
  );
  const owners = (paths: string[]) => [...new Set(paths.map((path) => lstatSync(path).uid))];
  expect(owners([cluster, ...entries.filter((path) => !path.endsWith('/link'))])).toEqual([account]);
  expect(owners([outside, join(cluster, 'link')])).toEqual([0]);
});

test('a lost password is replaced at the next start', { tags: ['extended'] }, async () => {
  const first = await startEmbeddedPostgres({ dataDir, ephemeral: true });
  await query(first.url, 'CREATE TABLE note AS SELECT 7 AS n');
  await first.stop();
  rmSync(passwordFile(dataDir));
  const second = await startEmbeddedPostgres({ dataDir, ephemeral: true });
  try {
    expect(second.url.includes(new URL(first.url).password)).toBe(false);
    expect(await query(second.url, 'SELECT n FROM note')).toEqual([7]);
    const refused = new URL(second.url);
    refused.password = new URL(first.url).password;
    await expect(query(refused.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
  } finally {
    await second.stop();
  }
});
