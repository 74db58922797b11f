import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Fault } from '../domain/error/fault.ts';
import { MachineService } from '../gen/baremetal/v2/machine_service_pb.ts';
import { TrustedProxies } from './access/trusted-proxies.ts';
import { type HttpOptions, type HttpServer, startHttpServer } from './http-server.ts';
import { Readiness } from './readiness.ts';
import type { CallDependencies, Service } from './rpc/service.ts';

const HEADERS_MS = 200;
const OPTIONS: HttpOptions = {
  host: '127.0.0.1',
  port: 0,
  tls: null,
  services: [],
  dependencies: {} as CallDependencies,
  routes: [],
  readiness: new Readiness(),
  limits: { headersMs: HEADERS_MS, requestMs: 2 * HEADERS_MS, checkMs: 50 },
};
const CALLER = {
  role: 'admin',
  methods: null,
  scope: null,
  via: 'token',
  expiresAt: null,
  actor: { kind: 'admin', id: 'alice' },
};
const DEPENDENCIES = {
  authenticator: { changes: 0, callerNow: () => CALLER },
  limits: { countCall: () => {} },
  proxies: new TrustedProxies([]),
  refusals: { record: () => {} },
  logCall: () => {},
  monotonicNow: () => 0,
} as unknown as CallDependencies;
let server: HttpServer;
let calls: Service;

beforeAll(async () => {
  server = await startHttpServer(OPTIONS);
});
afterAll(() => server.stop(0));

async function connected(): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  // The server has it too.
  await sleep(50);
  return socket;
}

async function firstLine(socket: Socket): Promise<string> {
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return data.toString().split('\r\n')[0] ?? '';
}

it('cuts off a slow client', async () => {
  const socket = await connected();
  socket.write('GET /healthz HTTP/1.1\r\nHost:');
  expect(await firstLine(socket)).toBe('HTTP/1.1 408 Request Timeout');
});

// Whichever of the timers is due first.
it.each([0, 25])('serves a client that waited only because the server was late, after %d ms', async (ms) => {
  const socket = await connected();
  await sleep(ms);
  // Timers come right after this phase of the loop, and what was sent is read only then.
  await new Promise((resolve) => setImmediate(resolve));
  socket.write('GET /healthz HTTP/1.1\r\nHost: ingot\r\n\r\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * HEADERS_MS);
  expect(await firstLine(socket)).toBe('HTTP/1.1 200 OK');
});

it('answers a call that fails while it closes with its own error', async () => {
  let fail = () => {};
  const arrived = new Promise<void>((resolve) => {
    const getMachine = () =>
      new Promise((_resolve, reject) => {
        fail = () => reject(new Fault('MACHINE_NOT_FOUND', { message: 'there is no such machine' }));
        resolve();
      });
    calls = {
      desc: MachineService,
      handlers: { getMachine },
      roles: { getMachine: 'viewer' },
    } as unknown as Service;
  });
  const closing = await startHttpServer({ ...OPTIONS, services: [calls], dependencies: DEPENDENCIES });
  const answering = fetch(`http://127.0.0.1:${closing.port}/baremetal.v2.MachineService/GetMachine`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  await arrived;
  const stopped = closing.stop(5_000);
  await sleep(20);
  fail();
  const answer = await answering;
  expect(await answer.json()).toMatchObject({ code: 'not_found', message: 'there is no such machine' });
  expect(answer.status).toBe(404);
  await stopped;
});
