import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type HttpServer, startHttpServer } from './http-server.ts';
import { Readiness } from './readiness.ts';
import type { CallDependencies } from './rpc/service.ts';

const HEADERS_MS = 200;
let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    services: [],
    dependencies: {} as CallDependencies,
    routes: [],
    readiness: new Readiness(),
    limits: { headersMs: HEADERS_MS, requestMs: 2 * HEADERS_MS, checkMs: 50 },
  });
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
