// @module-tag extended: src/server/until-database-ready.test.ts has the waits, api/migrating.test.ts schemas that do not fit.
/** `ingot serve` as a program that is started before its database, and on a schema that is too new for it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { throughPort } from '../parts/blackhole-proxy.ts';
import { freePort } from '../parts/free-port.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/ingot', import.meta.url));
const PATIENCE = { timeout: 20_000, interval: 50 };

let database: TestDatabase;
let folder: string;
let door: Server | null = null;
const children: ChildProcess[] = [];

beforeAll(async () => {
  database = await cloneDatabase();
  folder = mkdtempSync(join(tmpdir(), 'ingot-test-before-'));
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  door?.close();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** The tests' PostgreSQL has a socket and no port; this is its port. */
async function openDoor(port: number): Promise<void> {
  const socket = `${new URL(database.url).searchParams.get('host')}/.s.PGSQL.5432`;
  const server = createServer((client) => {
    const upstream = connect(socket);
    client.pipe(upstream).pipe(client);
    for (const end of [client, upstream]) end.on('error', () => client.destroy(upstream.destroy() as never));
  });
  door = server;
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
}

function serve(databasePort: number, httpPort: number) {
  const env = { PATH: process.env.PATH, DATABASE_URL: throughPort(database.url, databasePort) };
  const args = [
    'serve',
    '--data-dir',
    folder,
    '--http-addr',
    `127.0.0.1:${httpPort}`,
    '--grpc-addr',
    '127.0.0.1:0',
  ];
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const seen = { out: '', err: '' };
  child.stdout.on('data', (text) => {
    seen.out += text;
  });
  child.stderr.on('data', (text) => {
    seen.err += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${httpPort}${path}`);
    return { status: response.status, body: await response.json() };
  };
  return { child, seen, ended, get };
}

async function sql(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(text);
  await client.end();
}

it('waits for its database, then for a schema that it can run on, and serves', async () => {
  await sql(
    `INSERT INTO schema_migrations (name, digest, min_version) VALUES ('9999-later.sql', 'x', '99.0.0')`,
  );
  const databasePort = await freePort();
  const { child, seen, ended, get } = serve(databasePort, await freePort());

  await vi.waitFor(async () => expect((await get('/readyz')).status).toBe(503), PATIENCE);
  expect((await get('/readyz')).body).toEqual({
    status: 'not ready',
    reason: 'the database does not answer',
  });
  expect(await get('/healthz')).toEqual({ status: 200, body: { status: 'ok' } });
  await vi.waitFor(
    () => expect(seen.err.match(/"msg":"waiting for the database"/g)?.length).toBeGreaterThan(1),
    PATIENCE,
  );
  expect(seen.err).toContain('ECONNREFUSED');

  await openDoor(databasePort);
  await vi.waitFor(
    async () =>
      expect((await get('/readyz')).body).toMatchObject({
        reason: expect.stringMatching(
          /^the database's schema is newer .* 9999-later\.sql, which needs Ingot 99\.0\.0/,
        ),
      }),
    PATIENCE,
  );
  expect(seen.err).toContain('this version can not run on the schema');
  expect(seen.out).toBe('');

  await sql(`DELETE FROM schema_migrations WHERE name = '9999-later.sql'`);
  await vi.waitFor(async () => expect(await get('/readyz')).toMatchObject({ status: 200 }), PATIENCE);
  await vi.waitFor(() => expect(seen.out).toContain('Ingot is running.'), PATIENCE);
  child.kill('SIGINT');
  expect(await ended).toBe(0);
  expect(seen.err + seen.out).not.toContain(new URL(database.url).password);
});

it('ends at once when it is stopped while it waits', { tags: ['extended'] }, async () => {
  const { child, seen, ended, get } = serve(await freePort(), await freePort());
  await vi.waitFor(async () => expect((await get('/readyz')).status).toBe(503), PATIENCE);
  child.kill('SIGINT');
  expect(await ended).toBe(0);
  expect(seen.out).toBe('Stopping…\nStopped. All data is kept; start it again to continue.\n');
});
