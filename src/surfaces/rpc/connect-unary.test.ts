/** Which requests are answered in front of fastify, and which are its own. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { connect, constants, createServer as createHttp2Server, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { until } from '../../../test/parts/until.ts';
import type { Caller } from '../../domain/access/caller.ts';
import { MachineService } from '../../gen/baremetal/v2/machine_service_pb.ts';
import type { Credentials } from '../access/credentials.ts';
import { TrustedProxies } from '../access/trusted-proxies.ts';
import { type Handover, handoverOf, serveUnaryCalls, type UnaryFront } from './connect-unary.ts';
import { type CallContext, type CallDependencies, CallFailed, type Service } from './service.ts';

const PATH = '/baremetal.v2.MachineService/GetMachine';
const caller: Caller = {
  ...{ role: 'admin', methods: null, scope: null, via: 'token', expiresAt: null, address: '127.0.0.1' },
  actor: { kind: 'admin', id: 'alice' },
};
const service = {
  desc: MachineService,
  handlers: {
    getMachine: async ({ machineId }: { machineId: string }, context: CallContext) => {
      await duringCall(context);
      if (machineId === '') throw new Error('a handler fails');
      return { machineId };
    },
  },
  roles: { getMachine: 'viewer' },
} as unknown as Service;

let server: Server;
let duringCall: (context: CallContext) => unknown = () => {};
let isClosing = false;
let isCrowded = false;
let seen: Credentials | undefined;
let passedOn: Handover | undefined | 'nothing';
let recorded = 0;
let front: UnaryFront;
/** The same calls over HTTP/2. */
let http2Server: Http2Server;

beforeAll(async () => {
  const dependencies = {
    authenticator: {
      changes: 0,
      callerNow: (credentials: Credentials) => {
        seen = credentials;
        return caller;
      },
    },
    limits: { countCall: () => {} },
    proxies: new TrustedProxies(['127.0.0.1/32']),
    refusals: {
      record: () => {
        recorded += 1;
      },
    },
    logCall: () => {},
    logUnexpected: () => {},
    monotonicNow: () => 0,
  } as unknown as CallDependencies;
  server = createServer((raw: IncomingMessage, response) => {
    passedOn = handoverOf({ raw } as Parameters<typeof handoverOf>[0]);
    response.writeHead(418).end();
  });
  const options = {
    ...{ services: [service], dependencies },
    ...{ isClosing: () => isClosing, isCrowded: () => isCrowded },
  };
  front = serveUnaryCalls(server, options);
  http2Server = createHttp2Server((_request, response) => {
    response.writeHead(418);
    response.end();
  });
  serveUnaryCalls(http2Server as unknown as Server, options);
  for (const each of [server, http2Server]) {
    each.listen(0, '127.0.0.1');
    await once(each, 'listening');
  }
});
afterAll(() => {
  server.close();
  http2Server.close();
});
beforeEach(() => {
  isClosing = false;
  isCrowded = false;
  duringCall = () => {};
  passedOn = 'nothing';
  recorded = 0;
});

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

function send({ method = 'POST', path = PATH, headers = {}, body = '{"machineId":"m-1"}' }: Sent) {
  const { port } = server.address() as AddressInfo;
  return new Promise<{ message: IncomingMessage; text: string }>((resolve, reject) => {
    const sending = request(
      { port, host: '127.0.0.1', method, path, headers: { 'content-type': 'application/json', ...headers } },
      (message) => {
        let text = '';
        message.on('data', (data: Buffer) => {
          text += data.toString();
        });
        message.on('end', () => resolve({ message, text }));
      },
    );
    sending.on('error', reject);
    sending.end(body);
  });
}

it('answers a call that succeeds, with the headers that every answer has', async () => {
  const { message, text } = await send({});
  expect(message.statusCode).toBe(200);
  expect(JSON.parse(text)).toMatchObject({ machineId: 'm-1' });
  expect(message.headers).toMatchObject({
    'cache-control': 'no-store',
    'content-type': 'application/json',
    'x-content-type-options': 'nosniff',
    connection: 'keep-alive',
  });
  expect(passedOn).toBe('nothing');
});

it('finds the caller by the address that a trusted proxy names', async () => {
  await send({ headers: { 'x-forwarded-for': '192.0.2.7' } });
  expect(seen?.address).toBe('192.0.2.7');
});

it.each(['crowded', 'closing'])('closes the connection with an answer when the port is %s', async (why) => {
  isCrowded = why === 'crowded';
  duringCall = () => {
    isClosing = why === 'closing';
  };
  const { message } = await send({});
  expect(message.statusCode).toBe(200);
  expect(message.headers.connection).toBe('close');
});

it.each<[string, Sent]>([
  ['of another method', { method: 'PUT' }],
  ['of another path', { path: `${PATH}x` }],
  ['with a query', { path: `${PATH}?a=b` }],
  ['of another type', { headers: { 'content-type': 'text/plain' } }],
  ['with a deadline', { headers: { 'connect-timeout-ms': '100' } }],
  ['that is compressed', { headers: { 'content-encoding': 'gzip' } }],
  ['with a host that is no name', { headers: { host: 'a b' } }],
])('leaves a request %s to fastify, unread', async (_what, sent) => {
  const { message } = await send(sent);
  expect(message.statusCode).toBe(418);
  expect(passedOn).toBeUndefined();
});

it('leaves everything to fastify while the port closes', async () => {
  isClosing = true;
  expect((await send({})).message.statusCode).toBe(418);
});

it('hands on what it can not decode, with the caller and the body', async () => {
  expect((await send({ body: '{"machineId":' })).message.statusCode).toBe(418);
  expect(passedOn).toMatchObject({ call: { method: 'getMachine' }, body: Buffer.from('{"machineId":') });
});

it('hands on a failure', async () => {
  expect((await send({ body: '{}' })).message.statusCode).toBe(418);
  expect(passedOn).toEqual({ failed: expect.any(CallFailed) });
});

it('is over when no call is under way', async () => {
  await front.over();
  let finish = () => {};
  const arrived = new Promise<void>((resolve) => {
    duringCall = () => {
      resolve();
      return new Promise<void>((finished) => {
        finish = finished;
      });
    };
  });
  const answered = send({ body: '{}' });
  await arrived;
  let isOver = false;
  const over = front.over().then(() => {
    isOver = true;
  });
  await sleep(20);
  expect(isOver).toBe(false);
  finish();
  await over;
  expect(passedOn).toEqual({ failed: expect.any(CallFailed) });
  await answered;
});

it('finds out over HTTP/2 that the client is gone, also when it is asked later', async () => {
  let signal: AbortSignal | undefined;
  const client = connect(`http://127.0.0.1:${(http2Server.address() as AddressInfo).port}`);
  const stream = client.request({ ':method': 'POST', ':path': PATH, 'content-type': 'application/json' });
  duringCall = async (context) => {
    stream.close(constants.NGHTTP2_CANCEL);
    await once(stream, 'close');
    // The server has it too.
    await sleep(50);
    ({ signal } = context);
  };
  stream.on('error', () => {});
  stream.end('{}');
  await until(() => signal !== undefined);
  expect(signal?.aborted).toBe(true);
  await sleep(20);
  // A client that hung up was not refused.
  expect(recorded).toBe(0);
  client.destroy();
});
