// @module-tag extended: limits.test.ts and src/surfaces have the limits; this has clients that keep connections.
/** What one connection, and one address without credentials, may take of a server: real sockets, on both ports. */
import { connect as connectHttp2, constants } from 'node:http2';
import { connect } from 'node:net';
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { fresh } from '../api/fleet.ts';
import { callUnary, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({
    limits: { unread_answer_seconds: 1, calls_per_second_per_address: 1, failed_logins_per_address: 0 },
  });
  // A list of half a megabyte.
  const labels = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`label-${n}`, 'v'.repeat(200)]));
  await Promise.all(
    Array.from({ length: 40 }, () =>
      server.machines.registerMachine({ machine: { machineId: fresh('large'), labels } }),
    ),
  );
});
afterAll(() => server?.stop());

const LIST = '/baremetal.v2.MachineService/ListMachines';

describe('a client that reads nothing', () => {
  test('is disconnected from the HTTP port', async () => {
    const { port } = new URL(server.httpUrl);
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    const head = [
      `POST ${LIST} HTTP/1.1`,
      'Host: 127.0.0.1',
      `Authorization: Bearer ${server.adminToken}`,
      'Content-Type: application/json',
      'Content-Length: 2',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n{}`.repeat(60));
    // A client that does not read learns of the end when it writes.
    await until(() => {
      socket.write(' ');
      return socket.destroyed;
    });
  });

  test('is disconnected from the gRPC port, and learns why', async () => {
    const session = connectHttp2(`http://${server.grpcAddress}`, { settings: { initialWindowSize: 1_024 } });
    session.on('error', () => {});
    const goaway = new Promise<number>((resolve) => session.once('goaway', resolve));
    const stream = session.request({
      ':method': 'POST',
      ':path': LIST,
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: `Bearer ${server.adminToken}`,
    });
    stream.on('error', () => {});
    stream.pause();
    stream.end(Buffer.alloc(5));
    expect(await goaway).toBe(11);
    await until(() => session.destroyed);
    expect(server.logged.join('')).toContain('"why":"stalled"');
  });

  test('while others, slow and fast, get their answers', { tags: ['extended'] }, async () => {
    const { machines } = await server.client(MachineService, server.adminToken).listMachines({});
    expect(machines.length).toBe(40);
  });
});

test('a client that only opens and resets streams is disconnected and learns why', async () => {
  const closed = () => server.logged.filter((line) => line.includes('"why":"resets"')).length;
  const before = closed();
  const session = connectHttp2(`http://${server.grpcAddress}`);
  session.on('error', () => {});
  const goaway = new Promise<number>((resolve) => session.once('goaway', resolve));
  // A server that is busy reads them slowly, and may be sent more of them.
  for (let burst = 0; burst < 400 && !session.closed && !session.destroyed; burst += 1) {
    const streams = Array.from({ length: 100 }, () =>
      session.request({
        ':method': 'POST',
        ':path': LIST,
        'content-type': 'application/grpc',
        te: 'trailers',
        authorization: `Bearer ${server.adminToken}`,
      }),
    );
    // Their message never comes, so none of them is answered before.
    for (const stream of streams) {
      stream.on('error', () => {});
      stream.close(constants.NGHTTP2_CANCEL);
    }
    await Promise.all(streams.map((stream) => new Promise((resolve) => stream.once('close', resolve))));
  }
  expect(await goaway).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  expect(closed()).toBe(before + 1);
});

describe('an address without credentials', () => {
  /** More than ten seconds' worth at once. */
  const many = <T>(call: () => Promise<T>) => Promise.all(Array.from({ length: 40 }, call));

  test.each([
    ['REST', (url: string) => fetch(`${url}/api/v1/nodes`)],
    ['a boot', (url: string) => fetch(`${url}/boot/52:54:00:00:00:01`)],
    ['a report', (url: string) => fetch(`${url}/api/v1/report`, { method: 'POST', body: '{}' })],
    ['an agent', (url: string) => fetch(`${url}/api/v1/machine/register`, { method: 'POST', body: '{}' })],
    [
      'Connect',
      (url: string) =>
        fetch(url + LIST, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{}',
        }),
    ],
  ])('makes only so many calls, and gets a hint when to try again: %s', async (_what, call) => {
    const answers = await many(() => call(server.httpUrl));
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(0);
    expect(Number(limited[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('on gRPC, too', async () => {
    const refused = await many(() =>
      refusal(callUnary(server.channel, LIST, Buffer.alloc(0), new grpc.Metadata(), () => null)),
    );
    const limited = refused.filter(({ reason }) => reason === 'RATE_LIMITED');
    expect(limited[0]).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
    expect(limited[0]?.retrySeconds).toBeGreaterThan(0);
  });

  test('and those with credentials behind it are not limited', async () => {
    await many(() => fetch(`${server.httpUrl}/api/v1/nodes`));
    const headers = { authorization: `Bearer ${server.adminToken}` };
    const answers = await many(() => fetch(`${server.httpUrl}/api/v1/nodes`, { headers }));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});
