import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { connect } from 'node:http2';
import { type AddressInfo, createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAuthority, createCertificate } from '../../certificates/try-out.ts';
import { createSecureHttpServer } from './secure-http-server.ts';

const LIMIT_MS = 300;
let dir: string;
let ca: Buffer;
let server: Server;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-test-secure-http-'));
  const clock = { now: Date.now, days: 1 };
  ca = readFileSync(createAuthority(dir, clock).cert);
  const { cert, key } = createCertificate(dir, { name: 's', names: ['localhost'], purpose: 'server' }, clock);
  const current = { cert: readFileSync(cert), key: readFileSync(key), clientCa: null };
  server = createSecureHttpServer(
    { current, onChange: () => () => {} },
    { headersMs: LIMIT_MS, requestMs: LIMIT_MS, checkMs: 50, keepAliveMs: 1_000 },
    (request, response) => {
      request.on('data', () => {});
      // Answers after the whole request, and to /open never to its end.
      request.on('end', () => {
        if (request.url === '/open') response.write('open');
        else response.end('done');
      });
    },
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
  rmSync(dir, { recursive: true });
});

const port = () => (server.address() as AddressInfo).port;
const open = () => connect(`https://localhost:${port()}`, { ca });

it('closes a connection whose handshake does not come', async () => {
  const socket = createConnection(port(), '127.0.0.1');
  await once(socket.resume(), 'close');
});

it('closes an HTTP/2 connection without a request', async () => {
  const session = open();
  await once(session, 'connect');
  await once(session, 'close');
});

it('cancels a request whose body does not come, and keeps the connection', async () => {
  const session = open();
  const slow = session.request({ ':method': 'POST' });
  slow.on('error', () => {});
  slow.write('a');
  const beside = session.request({ ':path': '/open' });
  await once(beside, 'data');
  await once(slow, 'close');
  expect(slow.rstCode).not.toBe(0);
  const later = session.request({ ':path': '/' });
  expect(String((await once(later, 'data'))[0])).toBe('done');
  beside.close();
  session.close();
});

it('keeps a stream for as long as it lasts', async () => {
  const session = open();
  const stream = session.request({ ':path': '/open' });
  await once(stream, 'data');
  const ended = Promise.race([once(stream, 'close'), once(session, 'close')]).then(() => 'ended');
  const limit = new Promise((resolve) => setTimeout(() => resolve('open'), 3 * LIMIT_MS));
  expect(await Promise.race([ended, limit])).toBe('open');
  session.destroy();
});
