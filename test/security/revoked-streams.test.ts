// @module-tag extended: api/sessions.test.ts ends a stream when its token ends.
/** What is open when its token is revoked, and how long it stays open: streams of every protocol, idle ones too, and downloads. */
import { createHash, randomBytes } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OperationEvent_Kind, OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { fresh } from '../api/fleet.ts';
import { boot, call, createNode, report, setState } from '../nodes/rest.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let server: TestServer;
let replica: TestServer;
/** More than the buffers between the server and a client that does not read. */
const IMAGE = randomBytes(24 * 2 ** 20);
beforeAll(async () => {
  server = await startTestServer();
  replica = await startTestServer({ database: server.database });
  const sha256 = createHash('sha256').update(IMAGE).digest('hex');
  const url = `${server.httpUrl}/api/v1/images/large/content?sha256=${sha256}`;
  const piece = 4 * 2 ** 20;
  for (let start = 0; start < IMAGE.length; start += piece) {
    const end = Math.min(start + piece, IMAGE.length) - 1;
    const { status } = await fetch(url, {
      method: 'PUT',
      headers: {
        'content-type': 'application/octet-stream',
        'content-range': `bytes ${start}-${end}/${IMAGE.length}`,
        authorization: `Bearer ${server.adminToken}`,
      },
      body: IMAGE.subarray(start, end + 1),
    });
    if (status !== 201 && status !== 202) throw new Error(`a piece of the image was answered with ${status}`);
  }
});
afterAll(async () => {
  await replica?.stop();
  await server?.stop();
});

async function newToken() {
  const name = fresh('token');
  return { name, ...(await server.admin.createToken({ name, role: 'viewer' })) };
}

/** How long something takes, without the time for which this process, which has the servers in it, was not given a processor. */
async function ownMs(work: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  let lateMs = 0;
  let due = startedAt + 10;
  const timer = setInterval(() => {
    const now = performance.now();
    lateMs += Math.max(0, now - due);
    due = now + 10;
  }, 10);
  try {
    await work;
  } finally {
    clearInterval(timer);
  }
  return performance.now() - startedAt - lateMs;
}

interface Open {
  /** Resolves with how it ended. */
  readonly ended: Promise<unknown>;
}

const IDLE = { filter: 'machine_id=no-such-machine', sendSynced: true };

async function openGrpc(at: TestServer, secret: string): Promise<Open> {
  const stream = at.client(OperationService, secret).watchOperations(IDLE);
  const messages = stream[Symbol.asyncIterator]();
  expect((await messages.next()).value?.kind).toBe(OperationEvent_Kind.SYNCED);
  return { ended: refusal({ [Symbol.asyncIterator]: () => messages }).then(({ code }) => code) };
}

/** A stream of Connect over HTTP/1.1, as a browser and curl have it. */
async function openConnect(at: TestServer, secret: string): Promise<Open> {
  const message = Buffer.from(JSON.stringify(IDLE));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  const response = await fetch(`${at.httpUrl}/baremetal.v2.OperationService/WatchOperations`, {
    method: 'POST',
    headers: { 'content-type': 'application/connect+json', authorization: `Bearer ${secret}` },
    body: Buffer.concat([head, message]),
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  const readUntil = async (isEnough: () => boolean) => {
    for (;;) {
      const { value, done } = await reader.read();
      text += Buffer.from(value ?? []).toString();
      if (done || isEnough()) return text;
    }
  };
  expect(await readUntil(() => text.includes('SYNCED'))).toContain('SYNCED');
  const ended = readUntil(() => false).then((all) => /"code":"([a-z]+)"/.exec(all)?.[1]?.toUpperCase());
  return { ended };
}

interface Download extends Open {
  readonly answer: IncomingMessage;
}

/** It reads the first bytes, and no more before it is resumed. */
async function openDownload(at: TestServer, secret: string): Promise<Download> {
  const headers = { authorization: `Bearer ${secret}` };
  const asked = get(`${at.httpUrl}/api/v1/images/large/content`, { headers, agent: false });
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.once('response', resolve).once('error', reject);
  });
  expect(answer.statusCode).toBe(200);
  await new Promise((resolve) => answer.once('readable', resolve));
  const ended = new Promise((resolve) => {
    answer.once('error', () => resolve('cut off')).once('end', () => resolve('whole'));
  });
  return { ended, answer };
}

describe.each([
  ['gRPC', openGrpc, 'UNAUTHENTICATED'],
  ['Connect', openConnect, 'UNAUTHENTICATED'],
] as const)('an idle stream of %s', (_protocol, open, outcome) => {
  test.each([
    ['here', () => server],
    ['on another replica', () => replica],
  ] as const)('ends within a second after its token is revoked %s', async (_where, at) => {
    const { name, secret } = await newToken();
    const streams = await Promise.all([open(at(), secret), open(at(), secret)]);
    const ended = Promise.all(streams.map((stream) => stream.ended));
    await server.admin.revokeToken({ name });
    expect(await ownMs(ended)).toBeLessThan(1_000);
    expect(await ended).toEqual([outcome, outcome]);
  });

  test('ends within a second where the notice of the revocation is lost', async () => {
    const { name, secret } = await newToken();
    const { ended } = await open(replica, secret);
    await server.sql('UPDATE tokens SET revoked_at = now() WHERE name = $1', [name]);
    // The check runs twice a second; the rest is for the host.
    expect(await ownMs(ended)).toBeLessThan(2_500);
    expect(await ended).toBe(outcome);
  });

  test('ends within a second where its address has sent too many wrong credentials', async () => {
    const { name, secret } = await newToken();
    const { ended } = await open(server, secret);
    const guess = (n: number) =>
      fetch(`${server.httpUrl}/api/v1/nodes`, { headers: { authorization: `Bearer ${fresh('wrong')}${n}` } });
    const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => guess(n)));
    expect(answers.at(-1)?.status).toBe(429);
    await server.admin.revokeToken({ name });
    expect(await ownMs(ended)).toBeLessThan(1_000);
    expect(await ended).toBe(outcome);
  });

  test('ends when the overlap of its former secret is over', async () => {
    const { name, secret } = await newToken();
    await server.admin.rotateToken({ name, overlapSeconds: 1n });
    const { ended } = await open(replica, secret);
    expect(await ownMs(ended)).toBeLessThan(3_500);
    expect(await ended).toBe(outcome);
  });
});

describe('the download of an image', () => {
  test('is cut off within a second after its token is revoked', async () => {
    const { name, secret } = await newToken();
    const { ended, answer } = await openDownload(server, secret);
    await server.admin.revokeToken({ name });
    const cut = new Promise<void>((resolve) => answer.socket.once('close', () => resolve()));
    answer.resume();
    expect(await ownMs(cut)).toBeLessThan(1_000);
    expect(await ended).toBe('cut off');
  });

  test('goes on while other tokens are revoked', { tags: ['extended'] }, async () => {
    const [other, own] = [await newToken(), await newToken()];
    const { ended, answer } = await openDownload(server, own.secret);
    await server.admin.revokeToken({ name: other.name });
    await until(
      () => server.admin.listTokens({}),
      ({ tokens }) => tokens.some(({ name, revokedAt }) => name === other.name && revokedAt !== undefined),
    );
    answer.resume();
    expect(await ended).toBe('whole');
  });
});

describe('the download of a machine that boots', () => {
  async function bootingNode() {
    const created = await call(server, 'POST', '/workflows', {
      name: fresh('large'),
      image: { name: 'large' },
    });
    const { id, mac } = await createNode(server, { workflow: created.body.data.name });
    await setState(server, id, 'pending');
    const { token } = await boot(server, mac);
    await report(server, mac, 'started', {}, token);
    return { id, mac, token: token ?? '' };
  }

  test('is cut off within a second after another replica has made its boot void', async () => {
    const { id, token } = await bootingNode();
    const { ended, answer } = await openDownload(server, token);
    const issued = await call(replica, 'POST', `/nodes/${id}/boot-url`, undefined, server.adminToken);
    expect(issued.status).toBe(201);
    const cut = new Promise<void>((resolve) => answer.socket.once('close', () => resolve()));
    // The check runs twice a second. A client that reads at once may have the whole image before it.
    await sleep(1_000);
    answer.resume();
    expect(await ownMs(cut)).toBeLessThan(1_000);
    expect(await ended).toBe('cut off');
  });

  test('goes on while boots of others are void', { tags: ['extended'] }, async () => {
    const [other, own] = [await bootingNode(), await bootingNode()];
    const [cutOff, { ended, answer }] = [
      await openDownload(server, other.token),
      await openDownload(server, own.token),
    ];
    await report(server, other.mac, 'failed', {}, other.token);
    await sleep(1_000);
    cutOff.answer.resume();
    expect(await cutOff.ended).toBe('cut off');
    answer.resume();
    expect(await ended).toBe('whole');
  });
});
