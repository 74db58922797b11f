/** `ingot serve` as a program: where it listens, what it refuses, and TLS of its workers, also while they wait. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CertificateFiles } from '../../src/certificates/try-out.ts';
import { throughPort } from '../parts/blackhole-proxy.ts';
import { SERVER_NAMES, type TestAuthority, testAuthority } from '../parts/certificates.ts';
import { freePort } from '../parts/free-port.ts';
import { cloneDatabase, type TestDatabase } from '../parts/postgres.ts';
import { until } from '../parts/until.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/ingot', import.meta.url));
const PATIENCE_MS = 60_000;

let folder: string;
let authority: TestAuthority;
let database: TestDatabase;
let first: CertificateFiles;
const children: ChildProcess[] = [];
const doors: Server[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-test-serve-tls-'));
  authority = testAuthority();
  first = authority.issue({ name: 'first', names: SERVER_NAMES, purpose: 'server' });
  database = await cloneDatabase();
});
afterAll(async () => {
  for (const { pid, exitCode, signalCode } of children)
    if (pid && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
  for (const door of doors) door.close();
  await database.drop();
  authority.remove();
  rmSync(folder, { recursive: true, force: true });
});

function serve(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--data-dir', folder, ...args], {
    env: { PATH: process.env.PATH, DATABASE_URL: 'postgresql://none@127.0.0.1:1/none', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  children.push(child);
  const seen = { out: '', err: '' };
  child.stdout.on('data', (text) => {
    seen.out += text;
  });
  child.stderr.on('data', (text) => {
    seen.err += text;
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, seen, ended };
}

const LOOPBACK = ['--http-addr', '127.0.0.1:0', '--grpc-addr', '127.0.0.1:0'];

describe('ingot serve refuses, with exit code 64 and one line,', () => {
  const refused = async (args: readonly string[], env: Record<string, string> = {}) => {
    const { seen, ended } = serve(args, env);
    expect(await ended).toBe(64);
    expect(seen.err).toMatch(/^ingot: [^\n]+\n$/);
    return seen.err;
  };

  it('an address that is not loopback, without TLS', async () => {
    expect(await refused(['--http-addr', '192.0.2.1:8080'])).toMatch(
      /^ingot: INGOT_HTTP_ADDR: 192\.0\.2\.1:8080 is not a loopback address.*--insecure-plaintext/,
    );
  });

  it('a key that it can’t read', { tags: ['extended'] }, async () => {
    const none = join(folder, 'none.key');
    const { cert } = first;
    expect(await refused([...LOOPBACK, '--tls-cert-file', cert, '--tls-key-file', none])).toBe(
      `ingot: tls: ${none} can't be read (ENOENT)\n`,
    );
  });
});

it('warns with --insecure-plaintext, in the log', { tags: ['extended'] }, async () => {
  const { child, seen, ended } = serve([...LOOPBACK, '--insecure-plaintext']);
  await until(
    () => seen.err.includes('both ports are plaintext on addresses other than loopback'),
    Boolean,
    PATIENCE_MS,
  );
  child.kill('SIGTERM');
  await ended;
});

/** Lets connections through to the database, on a port that was closed before. */
async function openDoor(port: number): Promise<void> {
  const socket = `${new URL(database.url).searchParams.get('host')}/.s.PGSQL.5432`;
  const door = createServer((client) => {
    const upstream = connect(socket);
    client.pipe(upstream).pipe(client);
    for (const end of [client, upstream]) end.on('error', () => client.destroy(upstream.destroy() as never));
  });
  doors.push(door);
  await new Promise<void>((resolve) => door.listen(port, '127.0.0.1', resolve));
}

function statusOf(port: number, path: string): Promise<number> {
  return new Promise((resolve) => {
    request({ port, path, host: '127.0.0.1', ca: authority.ca, agent: false }, (response) =>
      resolve(response.resume().statusCode ?? 0),
    )
      .on('error', () => resolve(0))
      .end();
  });
}

async function presented(port: number): Promise<string> {
  const socket = connectTls({ port, host: '127.0.0.1', ca: authority.ca, ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

it('has TLS in every worker, while it waits for the database and after, and all reload', {
  tags: ['extended'],
  timeout: 3 * PATIENCE_MS,
}, async () => {
  const [httpPort, grpcPort, databasePort] = [await freePort(), await freePort(), await freePort()];
  const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
  copyFileSync(first.cert, files.cert);
  copyFileSync(first.key, files.key);
  const config = join(folder, 'tls.yaml');
  writeFileSync(config, `tls: { cert_file: ${files.cert}, key_file: ${files.key} }\n`);
  const { child, seen, ended } = serve(
    [
      '--workers',
      '2',
      '--config',
      config,
      '--http-addr',
      `127.0.0.1:${httpPort}`,
      '--grpc-addr',
      `127.0.0.1:${grpcPort}`,
    ],
    { DATABASE_URL: throughPort(database.url, databasePort) },
  );
  await until(
    () => statusOf(httpPort, '/readyz'),
    (status) => status === 503,
    PATIENCE_MS,
  );
  expect(await statusOf(httpPort, '/healthz')).toBe(200);
  await openDoor(databasePort);
  await until(
    () => seen.out,
    (out) => out.includes('Ingot is running'),
    PATIENCE_MS,
  );
  expect(seen.out).toContain(`HTTP   https://127.0.0.1:${httpPort}`);
  expect(seen.out).toContain(`gRPC   grpcs://127.0.0.1:${grpcPort}`);
  expect(await statusOf(httpPort, '/readyz')).toBe(200);
  const second = authority.issue({ name: 'second', names: SERVER_NAMES, purpose: 'server' });
  copyFileSync(second.cert, files.cert);
  copyFileSync(second.key, files.key);
  // Connections are dealt out in turn: four of each port reach both workers.
  for (const port of [httpPort, grpcPort])
    await until(
      async () => {
        const names = [];
        for (let again = 0; again < 4; again += 1) names.push(await presented(port));
        return names;
      },
      (names) => names.every((name) => name === 'second'),
      PATIENCE_MS,
    );
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(seen.err).not.toContain('PRIVATE KEY');
});
