/** Which requests are answered in front of fastify, and which are its own. */
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Caller } from '../../domain/access/caller.ts';
import { MachineService } from '../../gen/baremetal/v2/machine_service_pb.ts';
import type { Credentials } from '../access/credentials.ts';
import { TrustedProxies } from '../access/trusted-proxies.ts';
import { type Handover, handoverOf, serveUnaryCalls } from './connect-unary.ts';
import { type CallDependencies, CallFailed, type Service } from './service.ts';

const PATH = '/baremetal.v2.MachineService/GetMachine';
const caller: Caller = {
  ...{ role: 'admin', methods: null, scope: null, via: 'token', expiresAt: null, address: '127.0.0.1' },
  actor: { kind: 'admin', id: 'alice' },
};
const service = {
  desc: MachineService,
  handlers: {
    getMachine: async ({ machineId }: { machineId: string }) => {
      if (machineId === '') throw new Error('a handler fails');
      return { machineId };
    },
  },
  roles: { getMachine: 'viewer' },
} as unknown as Service;

let server: Server;
let isClosing = false;
let isCrowded = false;
let seen: Credentials | undefined;
let passedOn: Handover | undefined | 'nothing';

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
    refusals: { record: () => {} },
    logCall: () => {},
    logUnexpected: () => {},
    monotonicNow: () => 0,
  } as unknown as CallDependencies;
  server = createServer((raw: IncomingMessage, response) => {
    passedOn = handoverOf({ raw } as Parameters<typeof handoverOf>[0]);
    response.writeHead(418).end();
  });
  serveUnaryCalls(server, {
    ...{ services: [service], dependencies },
    ...{ isClosing: () => isClosing, isCrowded: () => isCrowded },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.close();
});
beforeEach(() => {
  isClosing = false;
  isCrowded = false;
  passedOn = 'nothing';
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

it('closes the connection after an answer where there are very many', async () => {
  isCrowded = true;
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
