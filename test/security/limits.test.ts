import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { create, fromJsonString, toBinary } from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  MachineService,
  RegisterMachineRequestSchema,
} from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { callUnary, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({
    pools: ['gpu'],
    limits: { streams_per_identity: 3, failed_logins_per_address: 5 },
  });
});
afterAll(() => server?.stop());

const REGISTER = '/baremetal.v2.MachineService/RegisterMachine';

/** 3.4 MB, 100,000 labels: a second of decoding. */
const LABELS = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`key${n}`, 'v'.repeat(20)]));
const LARGE = JSON.stringify({ machine: { machineId: 'x', labels: LABELS } });

function post(path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  return fetch(`${server.httpUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
}

async function token(name: string): Promise<string> {
  const created = await server.admin.createToken({ name, role: 'viewer' });
  return created.secret;
}

/** Milliseconds of the processor that this process spends on it: client and server are in it. */
async function processorTime(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe('a body without valid credentials', () => {
  it.each([
    ['Connect, JSON', REGISTER, 'application/json', 401],
    ['Connect, binary', REGISTER, 'application/proto', 401],
    ['gRPC-Web', REGISTER, 'application/grpc-web+proto', 200],
    ['Connect, a stream', '/baremetal.v2.OperationService/WatchOperations', 'application/connect+json', 200],
    ['a node', '/api/v1/nodes', 'application/json', 401],
    ['many nodes', '/api/v1/nodes/bulk/state', 'application/json', 401],
    ['a workflow', '/api/v1/workflows', 'application/json', 401],
    ['an agent', '/api/v1/machine/register', 'application/json', 403],
    ['no route', '/api/v1/nothing', 'application/json', 404],
  ])('is not read: %s', async (_what, path, type, status) => {
    const answer = await post(path, 'this is no message, and no one finds out'.repeat(50_000), {
      'content-type': type,
    });
    expect(answer.status).toBe(status);
    const text = await answer.text();
    if (status === 200) expect(text + answer.headers.get('grpc-status')).toMatch(/unauthenticated|16/);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('is not read on gRPC: bytes that are no message are not what is refused', async () => {
    const bytes = Buffer.alloc(3_400_000, 0xff);
    const send = callUnary(server.channel, REGISTER, bytes, new grpc.Metadata(), () => null);
    expect(await refusal(send)).toMatchObject({ code: 'UNAUTHENTICATED', reason: 'UNAUTHENTICATED' });
  });

  it('is not even asked for from a client that waits', async () => {
    const got = await new Promise<string[]>((resolve) => {
      const seen: string[] = [];
      const call = httpRequest(`${server.httpUrl}/api/v1/nodes`, {
        method: 'POST',
        headers: { expect: '100-continue', 'content-type': 'application/json', 'content-length': 50_000 },
      });
      call.on('continue', () => seen.push('continue'));
      call.on('response', (response) => {
        seen.push(String(response.statusCode));
        response.resume();
        call.destroy();
        resolve(seen);
      });
      call.on('error', () => {});
      call.flushHeaders();
    });
    expect(got).toEqual(['401']);
  });

  it('takes no time of the server: eight of them, beside one that is decoded', {
    tags: ['extended'],
    timeout: 120_000,
  }, async () => {
    const decoding = await processorTime(() => fromJsonString(RegisterMachineRequestSchema, LARGE));
    let answers: Response[] = [];
    const refuseEight = () =>
      processorTime(async () => {
        answers = await Promise.all(Array.from({ length: 8 }, () => post(REGISTER, LARGE)));
      });
    // The least of several: what else this process does then, such as collecting garbage, counts too. A host that sends a body
    // for longer than the server drops one gets no answer.
    const refusing: number[] = [];
    for (let round = 0; round < 5; round += 1) refusing.push(await refuseEight().catch(() => Infinity));
    expect(Math.min(...refusing)).toBeLessThan(decoding);
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(401));
    expect((await fetch(`${server.httpUrl}/readyz`)).status).toBe(200);
  });
});

describe('a body that would take too long', () => {
  it.each([
    ['many labels', () => LARGE],
    ['deep nesting', () => `${'{"machine":'.repeat(40)}1${'}'.repeat(40)}`],
    ['very deep nesting', () => '['.repeat(100_000)],
  ])('is refused before it is decoded: %s', async (_what, body) => {
    const answer = await post(REGISTER, body(), { authorization: `Bearer ${server.adminToken}` });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/more than/),
    });
  });

  it('is refused on gRPC, too', { tags: ['extended'] }, async () => {
    const message = create(RegisterMachineRequestSchema, { machine: { labels: LABELS } });
    const metadata = new grpc.Metadata();
    metadata.set('authorization', `Bearer ${server.adminToken}`);
    const bytes = Buffer.from(toBinary(RegisterMachineRequestSchema, message));
    const send = callUnary(server.channel, REGISTER, bytes, metadata, () => null);
    expect(await refusal(send)).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'REQUEST_TOO_COMPLEX' });
  });

  it('is refused by its size after decompression', async () => {
    const { gzipSync } = await import('node:zlib');
    const bomb = gzipSync(Buffer.alloc(50_000_000, 0x20));
    const answer = await post('/baremetal.v2.MachineService/GetMachine', new Uint8Array(bomb), {
      authorization: `Bearer ${server.adminToken}`,
      'content-encoding': 'gzip',
    });
    expect([answer.status, await answer.json()]).toMatchObject([413, { code: 'resource_exhausted' }]);
  });

  it('is refused on REST: many values, and more bytes than the route takes', async () => {
    const authorization = `Bearer ${server.adminToken}`;
    const many = await post('/api/v1/nodes/bulk/state', `{"node_ids":[${'1,'.repeat(10_000)}1]}`, {
      authorization,
    });
    expect([many.status, await many.text()]).toEqual([400, expect.stringContaining('too many values')]);
    const large = await post('/api/v1/nodes', `{"notes":"${'x'.repeat(70_000)}"}`, { authorization });
    expect(large.status).toBe(413);
  });
});

describe('a report', () => {
  const send = (body: string, headers: Record<string, string> = {}) => post('/api/v1/report', body, headers);
  const large = (mac_address: string) => JSON.stringify({ mac_address, vendor: 'v'.repeat(100_000) });

  it('of a sender that is not known has 64 KiB, whatever token it makes up, and in pieces too', async () => {
    const body = large('52:54:00:64:00:01');
    expect((await send(body)).status).toBe(413);
    expect((await send(body, { authorization: 'Bearer made-up' })).status).toBe(413);
    const pieces = new ReadableStream({
      start(controller) {
        for (let at = 0; at < body.length; at += 10_000)
          controller.enqueue(Buffer.from(body.slice(at, at + 10_000)));
        controller.close();
      },
    });
    const streamed = await fetch(`${server.httpUrl}/api/v1/report`, {
      method: 'POST',
      body: pieces,
      duplex: 'half',
    } as RequestInit);
    expect(streamed.status).toBe(413);
    expect(await server.sql(`SELECT 1 FROM nodes WHERE mac_address = '52:54:00:64:00:01'`)).toEqual([]);
    expect((await send(JSON.stringify({ mac_address: '52:54:00:64:00:01' }))).status).toBe(200);
  });

  it('of a boot with its token, or of an installer that is at work, may be longer', async () => {
    const mac = '52:54:00:64:00:02';
    const { data } = (await (await send(JSON.stringify({ mac_address: mac }))).json()) as {
      data: { id: string };
    };
    await server.sql(
      `INSERT INTO boot_tokens (token_hash, machine_id, boot_no, image, expires_at, address)
       VALUES (sha256('boot-secret'), $1, 1, '', now() + interval '1 hour', '127.0.0.1'),
              (sha256('elsewhere'), $1, 2, '', now() + interval '1 hour', '192.0.2.1')`,
      [data.id],
    );
    expect((await send(large(mac), { authorization: 'Bearer boot-secret' })).status).toBe(200);
    expect((await send(large(mac), { authorization: 'Bearer elsewhere' })).status).toBe(413);
    await server.sql(`UPDATE nodes SET reporter_address = '127.0.0.1' WHERE machine_id = $1`, [data.id]);
    expect((await send(large(mac))).status).toBe(200);
    const tooLarge = JSON.stringify({ mac_address: mac, vendor: 'v'.repeat(2_200_000) });
    expect((await send(tooLarge)).status).toBe(413);
  });
});

describe('an identity', () => {
  it('has only so many streams open, and others have theirs', async () => {
    const [first, second] = [await token('streams-1'), await token('streams-2')];
    const watch = (secret: string) =>
      server.client(OperationService, secret).watchOperations({ sendSynced: true });
    const open = [watch(first), watch(first), watch(first)];
    for (const stream of open) await stream[Symbol.asyncIterator]().next();
    const refused = await refusal(watch(first));
    expect(refused).toMatchObject({ code: 'RESOURCE_EXHAUSTED', reason: 'TOO_MANY_STREAMS' });
    expect(refused.retrySeconds).toBeGreaterThan(0);
    const other = watch(second);
    await other[Symbol.asyncIterator]().next();
    for (const stream of [...open, other]) stream.cancel();
    // What is closed can be opened again.
    await until(async () => {
      const again = watch(first);
      return again[Symbol.asyncIterator]()
        .next()
        .then(
          () => again.cancel() === undefined,
          () => false,
        );
    });
  });

  it('makes only so many calls, and gets a hint when to try again', async () => {
    const small = await startTestServer({ limits: { calls_per_second_per_identity: 1 } });
    try {
      // Ten seconds' worth may come at once.
      for (let n = 0; n < 9; n += 1) await small.machines.listMachines({});
      const results = await Promise.allSettled(
        Array.from({ length: 60 }, () => small.machines.listMachines({})),
      );
      const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
      expect(refused[0]).toMatchObject({ code: 'RESOURCE_EXHAUSTED', reason: 'RATE_LIMITED' });
      expect(refused[0].retrySeconds).toBeGreaterThan(0);

      const headers = { authorization: `Bearer ${small.adminToken}`, 'content-type': 'application/json' };
      const connectCall = () =>
        fetch(`${small.httpUrl}/baremetal.fleet.v1.FleetService/WhoAmI`, {
          method: 'POST',
          headers,
          body: '{}',
        });
      const restCall = () => fetch(`${small.httpUrl}/api/v1/nodes`, { headers });
      for (const call of [connectCall, restCall]) {
        const answers = await Promise.all(Array.from({ length: 40 }, call));
        const limited = answers.filter(({ status }) => status === 429);
        expect(limited.map((answer) => answer.headers.get('retry-after'))).toContain('1');
      }
    } finally {
      await small.stop();
    }
  });
});

describe('wrong credentials', () => {
  it('make an address wait, longer each time, and delay no valid ones', async () => {
    const wrong = (secret: string) => refusal(server.client(MachineService, secret).listMachines({}));
    // The same one again is a client that was not updated.
    for (let n = 0; n < 20; n += 1) expect((await wrong('stale')).reason).toBe('UNAUTHENTICATED');
    const reasons = [];
    for (let n = 0; n < 8; n += 1) reasons.push(await wrong(`${n}-guess`));
    expect(reasons.slice(0, 4).map(({ reason }) => reason)).toEqual(Array(4).fill('UNAUTHENTICATED'));
    expect(reasons.at(-1)).toMatchObject({ code: 'RESOURCE_EXHAUSTED', reason: 'TOO_MANY_FAILED_LOGINS' });
    expect(reasons.at(-1)?.retrySeconds).toBeGreaterThan(0);
    await server.machines.listMachines({});

    const rest = await fetch(`${server.httpUrl}/api/v1/nodes`, {
      headers: { authorization: 'Bearer guess-again' },
    });
    expect([rest.status, Number(rest.headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
    const agent = await post('/api/v1/machine/register', '{}', { authorization: 'Bearer guess-of-an-agent' });
    expect([agent.status, await agent.json()]).toEqual([
      429,
      expect.objectContaining({ error_code: 'rate_limited' }),
    ]);
  });
});

describe('what is not HTTP', () => {
  it('gets an answer that no one sniffs or stores', async () => {
    const { port } = new URL(server.httpUrl);
    const answer = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(Number(port), '127.0.0.1', () => socket.write('NOT HTTP\r\n\r\n'));
      socket.on('data', (data) => {
        text += String(data);
      });
      socket.on('close', () => resolve(text));
    });
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toMatch(/x-content-type-options: nosniff/);
  });
});
