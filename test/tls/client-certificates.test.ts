/** Client certificates as a way in: who they are, what they may do, and who stays outside. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import { connect } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CertificateFiles } from '../../src/certificates/try-out.ts';
import { createMachine } from '../agents/calls.ts';
import { newMachine } from '../api/fleet.ts';
import { launch } from '../cli/harness.ts';
import { SERVER_NAMES, type TestAuthority, testAuthority } from '../parts/certificates.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

let authority: TestAuthority;
let stranger: TestAuthority;
let server: TestServer;
const clients = new Map<string, CertificateFiles>();

/** The SAN of each client; some are of no use. */
const CLIENTS = {
  operator: 'spiffe://acme/ops/alice',
  viewer: 'viewer.example.com',
  scoped: 'spiffe://acme/tenant',
  unmapped: 'spiffe://acme/elsewhere',
  machine: 'spiffe://acme/machine/m-tls-1',
} as const;

beforeAll(async () => {
  authority = testAuthority();
  stranger = testAuthority();
  const { cert, key } = authority.issue({ name: 'server', names: SERVER_NAMES, purpose: 'server' });
  for (const [name, san] of Object.entries(CLIENTS))
    clients.set(name, authority.issue({ name, names: [san], purpose: 'client' }));
  clients.set(
    'expired',
    authority.issue({ name: 'expired', names: [CLIENTS.operator], purpose: 'client' }, -1),
  );
  clients.set('wrong purpose', authority.issue({ name: 'w', names: [CLIENTS.operator], purpose: 'server' }));
  clients.set('stranger', stranger.issue({ name: 's', names: [CLIENTS.operator], purpose: 'client' }));
  server = await startTestServer({
    pools: ['gpu', 'cpu'],
    tls: { cert_file: cert, key_file: key, client_ca_file: authority.caFile, caFile: authority.caFile },
    certificates: [
      { san: 'spiffe://acme/ops/*', role: 'operator', scope: '' },
      { san: 'VIEWER.example.com', role: 'viewer', scope: '' },
      { san: 'spiffe://acme/tenant', role: 'viewer', scope: 'customer_id=acme' },
      { san: 'spiffe://acme/machine/*', role: 'agent', scope: '', pool: 'gpu' },
    ],
  });
});
afterAll(async () => {
  await server?.stop();
  authority?.remove();
  stranger?.remove();
});

function filesOf(name: string): CertificateFiles {
  const files = clients.get(name);
  if (!files) throw new Error(`there is no ${name}`);
  return files;
}

const pair = (name: string) => {
  const { cert, key } = filesOf(name);
  return { cert: readFileSync(cert), key: readFileSync(key) };
};

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Over HTTP/1.1. */
function post(path: string, client: string | null, body: object, token?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const agent = new Agent({ ca: authority.ca, ...(client === null ? {} : pair(client)) });
    const headers = {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    request(`${server.httpUrl}${path}`, { method: 'POST', agent, headers }, async (response) => {
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part as Buffer);
      resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(parts).toString()) });
    })
      .on('error', reject)
      .end(JSON.stringify(body));
  });
}

const whoAmI = (client: string | null, token?: string) =>
  post('/baremetal.fleet.v1.FleetService/WhoAmI', client, {}, token);

async function overGrpc(client: string, path: string): Promise<keyof typeof grpc.status> {
  const { cert, key } = pair(client);
  const channel = new grpc.Client(server.grpcAddress, grpc.credentials.createSsl(authority.ca, key, cert), {
    'grpc.use_local_subchannel_pool': 1,
  });
  const code = await new Promise<grpc.status>((resolve) => {
    const pass = (bytes: Buffer) => bytes;
    channel.makeUnaryRequest(path, pass, pass, Buffer.alloc(0), (error) => resolve(error?.code ?? 0));
  });
  channel.close();
  return grpc.status[code] as keyof typeof grpc.status;
}

describe('a certificate with a mapped name', () => {
  test('is its owner, on both ports', async () => {
    expect(await whoAmI('operator')).toMatchObject({
      status: 200,
      body: { name: 'certificate:spiffe://acme/ops/alice', role: 'operator' },
    });
    expect(await whoAmI('viewer')).toMatchObject({
      body: { name: 'certificate:viewer.example.com', role: 'viewer' },
    });
    expect(await overGrpc('viewer', '/baremetal.v2.MachineService/ListMachines')).toBe('OK');
  });

  test('has the rights of its role and no more', async () => {
    expect(await overGrpc('viewer', '/baremetal.v2.MachineService/RebootMachine')).toBe('PERMISSION_DENIED');
    expect(await overGrpc('operator', '/baremetal.admin.v1.AdminService/CreateToken')).toBe(
      'PERMISSION_DENIED',
    );
  });

  test('has its scope', async () => {
    const [inside, outside] = [await newMachine(server), await newMachine(server)];
    await server.machines.updateMachine({
      machine: { machineId: inside, spec: { customerId: 'acme' } },
      updateMask: { paths: ['spec.customer_id'] },
    });
    const get = (machineId: string) =>
      post('/baremetal.v2.MachineService/GetMachine', 'scoped', { machineId });
    expect((await get(inside)).status).toBe(200);
    expect((await get(outside)).status).toBe(404);
  });

  test('is in the events of what it does', async () => {
    const machineId = await newMachine(server);
    const started = await post('/baremetal.v2.MachineService/EnterMaintenance', 'operator', {
      machineId,
      requestId: 'by-cert',
    });
    expect(started.status).toBe(200);
    const events = await server.sql<{ actor: string }>(
      'SELECT actor_id AS actor FROM events WHERE machine_id = $1',
      [machineId],
    );
    expect(events.map(({ actor }) => actor)).toContain('certificate:spiffe://acme/ops/alice');
  });

  test('works over HTTP/2', async () => {
    const session = connectHttp2(server.httpUrl.replace('127.0.0.1', 'localhost'), {
      ca: authority.ca,
      ...pair('viewer'),
    });
    const stream = session.request({
      ':method': 'POST',
      ':path': '/baremetal.fleet.v1.FleetService/WhoAmI',
      'content-type': 'application/json',
    });
    stream.end('{}');
    let text = '';
    for await (const part of stream) text += part;
    expect(JSON.parse(text)).toMatchObject({ role: 'viewer' });
    session.close();
  });
});

describe('outside stays', () => {
  test.each(['unmapped', 'expired', 'wrong purpose', 'stranger', 'machine'])(
    'the client %s',
    async (client) => {
      expect((await whoAmI(client)).status).toBe(401);
      expect(await overGrpc(client, '/baremetal.v2.MachineService/ListMachines')).toBe('UNAUTHENTICATED');
    },
  );

  test('a client without a certificate and without a token', async () => {
    expect((await whoAmI(null)).status).toBe(401);
  });

  test('a session that is resumed without one, which TLS 1.3 counts as authorized', async () => {
    const { port } = new URL(server.httpUrl);
    const options = { port: Number(port), host: '127.0.0.1', ca: authority.ca, ALPNProtocols: ['http/1.1'] };
    const first = connect(options);
    const [session] = (await once(first, 'session')) as [Buffer];
    first.destroy();
    const second = connect({ ...options, session });
    await once(second, 'secureConnect');
    expect(second.isSessionReused()).toBe(true);
    const body = '{}';
    second.write(
      `POST /baremetal.fleet.v1.FleetService/WhoAmI HTTP/1.1\r\nHost: ingot\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const [answer] = (await once(second, 'data')) as [Buffer];
    expect(answer.toString()).toContain('401');
    second.destroy();
  });
});

describe('a token beside a certificate', () => {
  test('decides', async () => {
    expect(await whoAmI('viewer', server.adminToken)).toMatchObject({ body: { role: 'admin' } });
    expect(await whoAmI('stranger', server.adminToken)).toMatchObject({ body: { role: 'admin' } });
  });

  test('decides also when it is wrong', async () => {
    expect((await whoAmI('operator', 'wrong')).status).toBe(401);
  });
});

describe('the command line', () => {
  test.each(['list', 'node list'])('%s presents its certificate', async (line) => {
    const { cert, key } = filesOf('viewer');
    const env = {
      INGOT_TOKEN: '',
      INGOT_HTTP_URL: server.httpUrl,
      INGOT_CA_FILE: authority.caFile,
      INGOT_CERT_FILE: cert,
      INGOT_KEY_FILE: key,
    };
    expect(await launch(server.grpcAddress, line, { env }).ended).toMatchObject({ code: 0 });
    const refused = await launch(server.grpcAddress, line, {
      env: { ...env, INGOT_CERT_FILE: '', INGOT_KEY_FILE: '' },
    }).ended;
    expect(refused.stderr).toContain('[UNAUTHENTICATED]');
  });
});

describe("a machine's certificate", () => {
  const registration = (machineId: string, pool = 'gpu') => ({
    machine_id: machineId,
    hostname: 'm',
    provider_name: 'generic',
    pool_name: pool,
    cpu: '1000m',
    memory: '1Gi',
    gpu_count: '0',
    private_ip: '10.0.0.7',
  });
  const register = (client: string, machineId: string, pool?: string) =>
    post('/api/v1/machine/register', client, registration(machineId, pool));
  const keepAlive = (client: string, machineId: string) =>
    post('/api/v1/machine/keepalive', client, {
      machine_id: machineId,
      provider_name: 'generic',
      pool_name: 'gpu',
    });

  test('takes the place of its token, for its own machine', async () => {
    const { machineId } = await createMachine(server);
    const san = `spiffe://acme/machine/${machineId}`;
    clients.set('agent', authority.issue({ name: `agent-${machineId}`, names: [san], purpose: 'client' }));
    expect(await register('agent', machineId)).toMatchObject({ status: 200 });
    expect(await keepAlive('agent', machineId)).toMatchObject({ status: 200, body: { status: 'ok' } });
    const other = await createMachine(server);
    expect((await register('agent', other.machineId)).status).toBe(403);
    expect((await keepAlive('agent', other.machineId)).status).toBe(403);
  });

  test('is nothing for a machine that no operator created', async () => {
    expect((await register('machine', 'm-tls-1')).status).toBe(403);
  });

  test('is nothing for a machine of another pool', async () => {
    const { machineId } = await createMachine(server, 'cpu');
    const san = `spiffe://acme/machine/${machineId}`;
    clients.set('cpu', authority.issue({ name: `agent-${machineId}`, names: [san], purpose: 'client' }));
    expect((await register('cpu', machineId, 'cpu')).status).toBe(403);
  });

  test('is not used when a token is sent, and an operator’s certificate is no agent’s', async () => {
    const { machineId } = await createMachine(server);
    const san = `spiffe://acme/machine/${machineId}`;
    clients.set('own', authority.issue({ name: `agent-${machineId}`, names: [san], purpose: 'client' }));
    const withToken = { ...registration(machineId), token: 'x' };
    expect((await post('/api/v1/machine/register', 'own', withToken, 'wrong')).status).toBe(403);
    expect((await register('operator', machineId)).status).toBe(403);
    expect((await register('own', machineId)).status).toBe(200);
  });
});
