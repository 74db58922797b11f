// @module-tag extended: src/surfaces/limits has the limit; this sends the frames.
/** Clients of HTTP/2 that open streams only to reset them, by any code and at any time, are disconnected: both ports, bare frames. */
import { constants } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SERVER_NAMES, type TestAuthority, testAuthority } from '../parts/certificates.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { RawHttp2 } from './raw-http2.ts';

let server: TestServer;
let authority: TestAuthority;

beforeAll(async () => {
  authority = testAuthority();
  const { cert, key } = authority.issue({ name: 'server', names: SERVER_NAMES, purpose: 'server' });
  server = await startTestServer({
    limits: { idle_connection_seconds: 1, unread_answer_seconds: 2, calls_per_second_per_address: 0 },
    tls: { cert_file: cert, key_file: key, caFile: authority.caFile },
  });
});
afterAll(async () => {
  await server?.stop();
  authority?.remove();
});

const LIST = '/baremetal.v2.MachineService/ListMachines';
const STREAMS = 4_000;
const BURST = 50;
const PORTS = {
  gRPC: () => Number(server.grpcAddress.split(':')[1]),
  HTTP: () => Number(new URL(server.httpUrl).port),
} as const;

interface Kind {
  readonly port: keyof typeof PORTS;
  readonly code: 'NGHTTP2_CANCEL' | 'NGHTTP2_NO_ERROR';
  readonly isWhole: boolean;
  readonly hasToken: boolean;
}

const KINDS: readonly Kind[] = [
  { port: 'gRPC', code: 'NGHTTP2_CANCEL', isWhole: false, hasToken: true },
  { port: 'gRPC', code: 'NGHTTP2_NO_ERROR', isWhole: false, hasToken: true },
  { port: 'gRPC', code: 'NGHTTP2_NO_ERROR', isWhole: true, hasToken: true },
  { port: 'gRPC', code: 'NGHTTP2_NO_ERROR', isWhole: false, hasToken: false },
  { port: 'HTTP', code: 'NGHTTP2_CANCEL', isWhole: true, hasToken: true },
  { port: 'HTTP', code: 'NGHTTP2_NO_ERROR', isWhole: false, hasToken: true },
  { port: 'HTTP', code: 'NGHTTP2_NO_ERROR', isWhole: false, hasToken: false },
];

async function isDisconnected(kind: Kind): Promise<void> {
  const client = await RawHttp2.open({ port: PORTS[kind.port](), ca: authority.ca });
  const call = { isWhole: kind.isWhole, ...(kind.hasToken && { token: server.adminToken }) };
  for (let sent = 0; sent < STREAMS && !client.isClosed; sent += BURST) {
    for (let n = 0; n < BURST; n += 1) client.reset(client.request(LIST, call), constants[kind.code]);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until(() => client.isClosed);
  // ENHANCE_YOUR_CALM from here, or INTERNAL_ERROR where the library has counted to its own limit first.
  expect([constants.NGHTTP2_ENHANCE_YOUR_CALM, constants.NGHTTP2_INTERNAL_ERROR]).toContain(
    client.goaways[0],
  );
  client.close();
}

describe('a client that resets its streams at once is disconnected', () => {
  test('also with the code of success, and after the answer', () =>
    isDisconnected({ port: 'HTTP', code: 'NGHTTP2_NO_ERROR', isWhole: true, hasToken: false }));

  test.each(KINDS)(
    '$port, $code, whole request: $isWhole, token: $hasToken',
    { tags: ['extended'] },
    isDisconnected,
  );
});

test.each(['gRPC', 'HTTP'] as const)(
  'resets of a stream that is already closed end the connection, too: %s',
  { tags: ['extended'] },
  async (port) => {
    const client = await RawHttp2.open({ port: PORTS[port](), ca: authority.ca });
    const stream = client.request(LIST, { isWhole: true });
    for (let n = 0; n < STREAMS; n += 1) client.reset(stream, constants.NGHTTP2_NO_ERROR);
    await until(() => client.isClosed);
    expect(client.goaways[0]).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    client.close();
  },
);

test.each(['gRPC', 'HTTP'] as const)(
  'a frame that breaks the protocol ends the connection, too: %s',
  { tags: ['extended'] },
  async (port) => {
    const client = await RawHttp2.open({ port: PORTS[port](), ca: authority.ca });
    const stream = client.request(LIST, { isWhole: false });
    client.end(stream);
    client.end(stream);
    await until(() => client.isClosed);
    expect(client.goaways[0]).toBe(constants.NGHTTP2_STREAM_CLOSED);
    client.close();
  },
);

test('one that makes many calls in order stays connected', { tags: ['extended'] }, async () => {
  for (const port of ['gRPC', 'HTTP'] as const) {
    const client = await RawHttp2.open({ port: PORTS[port](), ca: authority.ca });
    for (let n = 0; n < 600; n += 1) {
      client.request(LIST, { isWhole: true, token: server.adminToken });
      if (n % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect([port, client.isClosed, client.goaways]).toEqual([port, false, []]);
    client.close();
  }
});
