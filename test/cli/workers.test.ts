// @module-tag extended: src/server/workers/worker-processes.test.ts replaces workers that end.
/** `ingot serve` with several workers, as a program with its own PostgreSQL: what they share, and what survives a death. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { cloneDatabase } from '../parts/postgres.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/ingot', import.meta.url));
const PATIENCE = { timeout: 25_000, interval: 50 };

let folder: string;
const started: ChildProcess[] = [];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-test-workers-'));
});
afterAll(() => {
  // Each is the leader of its own process group.
  for (const { pid, exitCode, signalCode } of started) {
    if (pid && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
  }
  rmSync(folder, { recursive: true, force: true });
});

interface Running {
  readonly pid: number;
  readonly seen: { out: string; err: string };
  readonly ended: Promise<number | null>;
  http(): string;
  grpcAddress(): string;
}

function serve(env: Record<string, string> = {}): Running {
  const args = [
    'serve',
    '--workers',
    '2',
    '--data-dir',
    folder,
    '--log-level',
    'debug',
    '--lease-ms',
    '1500',
  ];
  const child = spawn(
    process.execPath,
    [PROGRAM, ...args, '--http-addr', '127.0.0.1:0', '--grpc-addr', '127.0.0.1:0'],
    { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  started.push(child);
  const seen = { out: '', err: '' };
  child.stdout.on('data', (text) => {
    seen.out += text;
  });
  child.stderr.on('data', (text) => {
    seen.err += text;
  });
  const address = (pattern: RegExp) => pattern.exec(seen.out)?.[1] ?? '';
  return {
    pid: child.pid ?? 0,
    seen,
    ended: new Promise((resolve) => child.once('close', resolve)),
    http: () => address(/HTTP {3}(\S+)/),
    grpcAddress: () => address(/gRPC {3}(\S+)/),
  };
}

const logLines = ({ seen }: Running): Array<Record<string, unknown>> =>
  seen.err
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line));
const workersOf = (server: Running) =>
  logLines(server)
    .filter(({ msg }) => msg === 'a worker was started')
    .map(({ worker, pid }) => ({ worker: Number(worker), pid: Number(pid) }));

/** The pids of children, as the kernel lists them. */
function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => statOf(Number(pid))?.parent === parent)
    .map(Number);
}

function statOf(pid: number): { state: string; parent: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}

const isAlive = (pid: number) => !['Z', 'X', undefined].includes(statOf(pid)?.state);

/** Over Connect, again when the worker that had the connection is gone. */
async function call(server: Running, method: string, body: object): Promise<Record<string, unknown>> {
  const token = readFileSync(join(folder, 'admin.token'), 'utf8').trim();
  const response = await vi.waitFor(
    () =>
      fetch(`${server.http()}/baremetal.v2.${method}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      }),
    PATIENCE,
  );
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Record<string, unknown>;
}

/** Each request has its own connection, since connections are what is distributed. */
async function checkHealth(server: Running): Promise<void> {
  const client = new grpc.Client(server.grpcAddress(), grpc.credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });
  const pass = (bytes: Buffer) => bytes;
  await new Promise<void>((resolve, reject) =>
    client.makeUnaryRequest(
      '/baremetal.v2.MachineService/ListMachines',
      pass,
      pass,
      Buffer.alloc(0),
      tokenMetadata(),
      (error) => (error ? reject(error) : resolve()),
    ),
  );
  client.close();
}

function tokenMetadata(): grpc.Metadata {
  const metadata = new grpc.Metadata();
  metadata.set('authorization', `Bearer ${readFileSync(join(folder, 'admin.token'), 'utf8').trim()}`);
  return metadata;
}

const MACHINE_IDS = Array.from({ length: 16 }, (_, n) => `m-${n}`);

/** One after the other would mean one worker: an HTTP client keeps its connection. */
async function enterMaintenance(server: Running): Promise<void> {
  const labels = { 'fake/step-ms': '1500' };
  await Promise.all(
    MACHINE_IDS.map(async (machineId) => {
      await call(server, 'MachineService/RegisterMachine', { machine: { machineId, labels } });
      await call(server, 'MachineService/EnterMaintenance', { machineId, requestId: machineId });
    }),
  );
}

async function untilSucceeded(server: Running): Promise<void> {
  await vi.waitFor(async () => {
    const { operations } = await call(server, 'OperationService/ListOperations', { pageSize: 100 });
    const phases = (operations as Array<{ phase: string }>).map(({ phase }) => phase);
    expect(phases).toEqual(MACHINE_IDS.map(() => 'SUCCEEDED'));
  }, PATIENCE);
}

it('both workers serve both ports; one that is killed is replaced, and its work is done; Ctrl-C ends all', async () => {
  const server = serve();
  await vi.waitFor(() => expect(server.seen.out).toContain('Ctrl-C stops it.'), PATIENCE);
  expect(server.seen.out.match(/Ingot is running/g)).toHaveLength(1);
  expect(readdirSync(folder).filter((name) => name.includes('token'))).toEqual(['admin.token']);

  for (let n = 0; n < 4; n += 1) await checkHealth(server);
  const callers = (mount: string) =>
    new Set(
      logLines(server).flatMap(({ msg, method, worker }) =>
        msg === 'call' && String(method).includes(mount) ? [worker] : [],
      ),
    );
  await vi.waitFor(() => expect(callers('istMachines')).toEqual(new Set([1, 2])), PATIENCE);

  await enterMaintenance(server);
  await vi.waitFor(() => expect(callers('nterMaintenance')).toEqual(new Set([1, 2])), PATIENCE);
  const [victim] = workersOf(server);
  process.kill(victim?.pid ?? 0, 'SIGKILL');
  await vi.waitFor(() => expect(workersOf(server)).toHaveLength(3), PATIENCE);
  expect(logLines(server).find(({ msg }) => String(msg).startsWith('a worker died'))).toMatchObject({
    ...victim,
    cause: 'SIGKILL',
  });
  await untilSucceeded(server);
  const replacement = workersOf(server).at(-1);
  expect(replacement?.worker).toBe(victim?.worker);
  expect(childrenOf(server.pid)).toContain(replacement?.pid);

  const family = [server.pid, ...childrenOf(server.pid)];
  // Two workers and PostgreSQL.
  expect(family).toHaveLength(4);
  process.kill(-server.pid, 'SIGINT');
  expect(await server.ended).toBe(0);
  expect(family.filter(isAlive)).toEqual([]);
  expect(server.seen.out.split('Ctrl-C stops it.\n')[1]).toBe(
    'Stopping…\nStopped. All data is kept; start it again to continue.\n',
  );
}, 60_000);

it('a primary that is killed leaves no worker and no PostgreSQL behind', {
  timeout: 60_000,
  tags: ['extended'],
}, async () => {
  const server = serve();
  await vi.waitFor(() => expect(server.seen.out).toContain('Ctrl-C stops it.'), PATIENCE);
  const family = childrenOf(server.pid);
  expect(family).toHaveLength(3);
  process.kill(server.pid, 'SIGKILL');
  await vi.waitFor(() => expect(family.filter(isAlive)).toEqual([]), PATIENCE);
});

it('a setting that a worker finds wrong is one line and exit code 64', {
  timeout: 60_000,
  tags: ['extended'],
}, async () => {
  const database = await cloneDatabase();
  // A Redis that refuses every password.
  const redis = createServer((socket) => socket.on('data', () => socket.write('-WRONGPASS no\r\n')));
  await new Promise<void>((resolve) => redis.listen(0, '127.0.0.1', resolve));
  const { port } = redis.address() as AddressInfo;
  const presence = `redis://:secret-word@127.0.0.1:${port}`;
  const server = serve({ DATABASE_URL: database.url, INGOT_PRESENCE_URL: presence });
  expect(await server.ended).toBe(64);
  expect(server.seen.err).toMatch(/^ingot: INGOT_PRESENCE_URL: WRONGPASS/m);
  expect(server.seen.err).not.toContain('secret-word');
  expect(server.seen.out).toBe('');
  redis.close();
  await database.drop();
});
