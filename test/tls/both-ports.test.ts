/** TLS on both ports of a real server: which versions and protocols they take, and what a new certificate does. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CertificateFiles } from '../../src/certificates/try-out.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { newMachine } from '../api/fleet.ts';
import { SERVER_NAMES, type TestAuthority, testAuthority } from '../parts/certificates.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let authority: TestAuthority;
let folder: string;
let server: TestServer;
let first: CertificateFiles;
let second: CertificateFiles;

/** As Kubernetes mounts a secret: files are links through `..data`, which is replaced as a whole. */
function publish({ cert, key }: CertificateFiles, version: string): void {
  const data = join(folder, `..${version}`);
  mkdirSync(data);
  copyFileSync(cert, join(data, 'tls.crt'));
  copyFileSync(key, join(data, 'tls.key'));
  symlinkSync(`..${version}`, join(folder, '..next'));
  renameSync(join(folder, '..next'), join(folder, '..data'));
}

beforeAll(async () => {
  authority = testAuthority();
  first = authority.issue({ name: 'first', names: SERVER_NAMES, purpose: 'server' });
  second = authority.issue({ name: 'second', names: SERVER_NAMES, purpose: 'server' });
  folder = mkdtempSync(join(tmpdir(), 'ingot-test-tls-'));
  publish(first, 'v1');
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name));
  server = await startTestServer({
    tls: {
      cert_file: join(folder, 'tls.crt'),
      key_file: join(folder, 'tls.key'),
      caFile: authority.caFile,
    },
  });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
  authority?.remove();
});

const httpPort = () => Number(new URL(server.httpUrl).port);
const grpcPort = () => Number(server.grpcAddress.split(':')[1]);

async function handshake(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: authority.ca, ALPNProtocols: ['h2'], ...options });
  await once(socket, 'secureConnect');
  return socket;
}

async function presented(port: number): Promise<string> {
  const socket = await handshake(port);
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

function get(path: string, headers: Record<string, string> = {}): Promise<{ version: string; body: string }> {
  return new Promise((resolve, reject) => {
    const agent = new Agent({ ca: authority.ca });
    request(`${server.httpUrl}${path}`, { agent, headers }, async (response) => {
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part as Buffer);
      resolve({ version: response.httpVersion, body: Buffer.concat(parts).toString() });
    })
      .on('error', reject)
      .end();
  });
}

describe.each([
  ['HTTP', httpPort],
  ['gRPC', grpcPort],
])('the %s port', (_name, port) => {
  test.each(['TLSv1.2', 'TLSv1.3'] as const)('takes %s', async (version) => {
    const socket = await handshake(port(), { minVersion: version, maxVersion: version });
    expect(socket.getProtocol()).toBe(version);
    socket.destroy();
  });

  test('refuses TLS 1.1', async () => {
    // The level permits the old version on the client's side, so that the refusal is the server's.
    const old = handshake(port(), {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT:@SECLEVEL=0',
    });
    await expect(old).rejects.toThrow(/alert protocol version/i);
  });

  test('is not trusted by a client that does not know its authority', async () => {
    await expect(handshake(port(), { ca: [] })).rejects.toThrow(/unable to verify|self-signed|issuer/);
  });

  test('answers nothing in plaintext', async () => {
    const socket = createConnection(port(), '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET /healthz HTTP/1.1\r\nHost: ingot\r\n\r\n');
    let received = '';
    socket.on('data', (data) => {
      received += data.toString('latin1');
    });
    await once(socket, 'close');
    expect(received).not.toContain('HTTP/1.1 200');
  });
});

describe('the HTTP port', () => {
  test('takes HTTP/1.1, with REST, Connect and the console', async () => {
    expect(await get('/healthz')).toEqual({ version: '1.1', body: '{"status":"ok"}' });
    const authorization = `Bearer ${server.adminToken}`;
    expect(JSON.parse((await get('/api/v1/pools', { authorization })).body)).toBeDefined();
  });

  test('takes HTTP/2 by ALPN, with unary calls and streams on one connection', async () => {
    const session = connectHttp2(server.httpUrl.replace('127.0.0.1', 'localhost'), { ca: authority.ca });
    const call = (headers: Record<string, string>, body?: string) => {
      const stream = session.request({ authorization: `Bearer ${server.adminToken}`, ...headers });
      stream.end(body);
      return stream;
    };
    const read = async (stream: ReturnType<typeof call>) => {
      const parts: Buffer[] = [];
      for await (const part of stream) parts.push(part as Buffer);
      return Buffer.concat(parts).toString();
    };
    expect(JSON.parse(await read(call({ ':path': '/healthz' })))).toEqual({ status: 'ok' });
    const whoAmI = call(
      {
        ':path': '/baremetal.fleet.v1.FleetService/WhoAmI',
        ':method': 'POST',
        'content-type': 'application/json',
      },
      '{}',
    );
    expect(JSON.parse(await read(whoAmI))).toMatchObject({ role: 'admin' });
    const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, 2]), Buffer.from('{}')]);
    const watch = session.request({
      ':path': '/baremetal.v2.OperationService/WatchOperations',
      ':method': 'POST',
      'content-type': 'application/connect+json',
      authorization: `Bearer ${server.adminToken}`,
    });
    watch.end(frame);
    let received = '';
    watch.on('data', (data: Buffer) => {
      received += data.toString();
    });
    const machineId = await newMachine(server);
    await server.machines.enterMaintenance({ machineId, requestId: randomUUID() });
    await until(() => received.includes(machineId));
    watch.close();
    session.close();
    await once(session, 'close');
  });
});

test('a new certificate applies to new connections, and a stream from before goes on', async () => {
  const operations = server.client(OperationService, server.adminToken);
  const watched: string[] = [];
  const stream = operations.watchOperations({});
  const reading = (async () => {
    for await (const item of stream)
      watched.push(JSON.stringify(item, (_k, v) => (typeof v === 'bigint' ? String(v) : v)));
  })();
  const kept = await handshake(httpPort(), { ALPNProtocols: ['http/1.1'] });
  const before = await newMachine(server);
  await server.machines.enterMaintenance({ machineId: before, requestId: randomUUID() });
  await until(() => watched.some((item) => item.includes(before)));

  expect([await presented(httpPort()), await presented(grpcPort())]).toEqual(['first', 'first']);
  publish(second, 'v2');
  await until(async () => (await presented(httpPort())) === 'second');
  await until(async () => (await presented(grpcPort())) === 'second');

  const after = await newMachine(server);
  await server.machines.enterMaintenance({ machineId: after, requestId: randomUUID() });
  await until(() => watched.some((item) => item.includes(after)));
  kept.write('GET /healthz HTTP/1.1\r\nHost: ingot\r\n\r\n');
  const [answer] = (await once(kept, 'data')) as [Buffer];
  expect(answer.toString()).toContain('200 OK');
  kept.destroy();
  stream.cancel();
  await reading;
});

test('files that do not belong together change nothing and are logged, until they do', async () => {
  const name = await presented(httpPort());
  const errors = () => server.logged.filter((line) => line.includes('the new certificate is not used'));
  const other = name === 'first' ? second : first;
  publish({ cert: first.key, key: first.key }, 'v3');
  await until(() => errors().length > 0);
  expect(errors()[0]).toContain('tls.crt is not a certificate in PEM form');
  publish({ cert: first.cert, key: second.key }, 'v4');
  await until(() => errors().some((line) => line.includes('tls.key is not the key of')));
  expect([await presented(httpPort()), await presented(grpcPort())]).toEqual([name, name]);
  publish(other, 'v5');
  await until(async () => (await presented(httpPort())) !== name);
  expect(JSON.stringify(server.logged)).not.toContain('PRIVATE KEY');
});

test('a client with the authority reaches gRPC by name and by address', async () => {
  for (const host of ['127.0.0.1', 'localhost']) {
    const channel = new grpc.Client(`${host}:${grpcPort()}`, grpc.credentials.createSsl(authority.ca));
    await new Promise<void>((resolve, reject) =>
      channel.waitForReady(Date.now() + 10_000, (error) => (error ? reject(error) : resolve())),
    );
    channel.close();
  }
});
