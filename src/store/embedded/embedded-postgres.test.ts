// @module-tag extended: who-may-connect.test.ts starts one; src/store/schema/migrate.test.ts fills one.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
import { processStart } from './process-identity.ts';

const isRoot = process.getuid?.() === 0;

let base: string;
let dataDir: string;
let started: EmbeddedPostgres[];

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'ingot-embedded-test-'));
  dataDir = join(base, 'data');
  started = [];
});
afterEach(async () => {
  for (const server of started) await server.stop();
  rmSync(base, { recursive: true });
});

async function start(options: { ephemeral?: boolean; settings?: Record<string, string> } = {}) {
  const server = await startEmbeddedPostgres({ dataDir, ephemeral: true, ...options });
  started.push(server);
  return server;
}

async function query(server: EmbeddedPostgres, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows.flat();
  } finally {
    await client.end();
  }
}

const socketDirOf = (server: EmbeddedPostgres) => new URL(server.url).searchParams.get('host') ?? '';
const forgetHolder = () => writeFileSync(join(dataDir, 'ingot.lock'), '4194304 boot/1\n');

test('what was written is there after a restart, and a stop leaves nothing behind', async () => {
  const first = await start({ ephemeral: false, settings: { shared_buffers: '16MB' } });
  await query(first, 'CREATE TABLE note AS SELECT 42 AS n');
  expect(await query(first, `SELECT current_setting('shared_buffers'), current_setting('fsync')`)).toEqual([
    '16MB',
    'on',
  ]);
  expect(statSync(socketDirOf(first)).mode & 0o777).toBe(0o700);
  await first.stop();
  await first.stop();
  expect(processStart(first.pid)).toBeUndefined();
  expect(existsSync(socketDirOf(first))).toBe(false);
  expect(readdirSync(dataDir).sort()).toEqual(['postgresql', 'postgresql.password']);
  expect(await query(await start(), 'SELECT n FROM note')).toEqual([42]);
});

test('it is a UTF-8 database in the C locale that listens on its socket only', {
  tags: ['extended'],
}, async () => {
  const server = await start();
  const names = ['server_encoding', 'listen_addresses', 'fsync', 'synchronous_commit', 'full_page_writes'];
  const values = `SELECT ${names.map((name) => `current_setting('${name}')`).join(', ')}`;
  expect(await query(server, values)).toEqual(['UTF8', '', 'off', 'off', 'off']);
  expect(await query(server, `SELECT datcollate FROM pg_database WHERE datname = 'postgres'`)).toEqual(['C']);
});

test.runIf(isRoot)(
  'as root it works below a directory that only root can enter',
  { tags: ['extended'] },
  async () => {
    const closed = join(base, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    chmodSync(base, 0o755);
    dataDir = join(closed, 'data');
    const first = await start({ ephemeral: false });
    await query(first, 'CREATE TABLE note AS SELECT 1 AS n');
    process.kill(first.pid, 'SIGKILL');
    await new Promise((resolve) => first.onExit(resolve));
    const second = await start({ ephemeral: false });
    await query(second, 'INSERT INTO note VALUES (2)');
    await second.stop();
    expect(await query(await start(), 'SELECT n FROM note ORDER BY n')).toEqual([1, 2]);
    const owners = readdirSync(join(dataDir, 'postgresql'), { recursive: true, encoding: 'utf8' }).map(
      (name) => statSync(join(dataDir, 'postgresql', name)).uid,
    );
    expect(new Set(owners)).toEqual(new Set([Number(execFileSync('id', ['-u', 'ingot-postgres']))]));
    expect([statSync(closed).mode & 0o777, statSync(dataDir).uid]).toEqual([0o700, 0]);
  },
);

test('a second start names the process that has it, and the first goes on unharmed', {
  tags: ['extended'],
}, async () => {
  const server = await start();
  await expect(start()).rejects.toThrow(`is in use by another Ingot, pid ${process.pid}`);
  expect(await query(server, 'SELECT 1')).toEqual([1]);
});

test('the PostgreSQL of an Ingot that was killed is stopped first', async () => {
  const orphan = await start();
  await query(orphan, 'CREATE TABLE note AS SELECT 7 AS n');
  forgetHolder();
  const server = await start();
  expect(processStart(orphan.pid)).toBeUndefined();
  expect(existsSync(socketDirOf(orphan))).toBe(false);
  expect(await query(server, 'SELECT n FROM note')).toEqual([7]);
});

test('backends that outlived a killed PostgreSQL are stopped first', { tags: ['extended'] }, async () => {
  const killed = await start();
  const client = new Client({ connectionString: killed.url });
  client.on('error', () => {});
  await client.connect();
  const [backend] = (await client.query('SELECT pg_backend_pid() AS pid')).rows;
  // Busy without waiting for anything, it does not notice that its postmaster is gone.
  const busy = client.query(`DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$`).catch(() => {});
  process.kill(killed.pid, 'SIGKILL');
  await new Promise((resolve) => killed.onExit(resolve));
  expect(processStart(backend.pid)).toBeDefined();
  const server = await start();
  await busy;
  expect(processStart(backend.pid)).toBeUndefined();
  expect(await query(server, 'SELECT 1')).toEqual([1]);
});

test.each([
  ['a stranger’s process', 'echo $$; exec sleep 60'],
  ['a zombie', 'sleep 0.1 & echo $!; exec sleep 60'],
])('a pid file that names %s does not prevent a start', { tags: ['extended'] }, async (_case, script) => {
  const first = await start();
  const pidFile = join(dataDir, 'postgresql/postmaster.pid');
  const content = readFileSync(pidFile, 'utf8');
  await first.stop();
  const { uid, gid } = statSync(join(dataDir, 'postgresql'));
  const stranger = spawn('/bin/sh', ['-c', script], isRoot ? { uid, gid } : {});
  try {
    const [pid] = await once(stranger.stdout, 'data');
    await sleep(300);
    writeFileSync(pidFile, content.replace(/^\d+/, String(pid).trim()));
    expect(await query(await start(), 'SELECT 1')).toEqual([1]);
    expect(stranger.exitCode).toBeNull();
  } finally {
    stranger.kill();
  }
});

test('an unexpected exit is reported, also to a listener that comes late; a stop is not', {
  tags: ['extended'],
}, async () => {
  const server = await start();
  const exit = new Promise((resolve) => server.onExit(resolve));
  process.kill(server.pid, 'SIGKILL');
  expect(await exit).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await new Promise((resolve) => server.onExit(resolve))).toEqual({ code: null, signal: 'SIGKILL' });
  const next = await start();
  next.onExit(() => expect.unreachable());
  await next.stop();
});

test('what an interrupted initialisation left is cleared away', { tags: ['extended'] }, async () => {
  mkdirSync(join(dataDir, 'postgresql.new-abc123/base'), { recursive: true });
  await start();
  expect(readdirSync(dataDir).sort()).toEqual(['ingot.lock', 'postgresql', 'postgresql.password']);
});

test('a failed start says why in one line and gives the directory back', { tags: ['extended'] }, async () => {
  await expect(start({ settings: { shared_buffers: 'lots' } })).rejects.toThrow(
    /^PostgreSQL did not start: invalid value for parameter "shared_buffers": "lots"$/,
  );
  await start();
});
