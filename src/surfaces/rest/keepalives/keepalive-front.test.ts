import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { until } from '../../../../test/parts/until.ts';
import type { AgentBearer } from '../../../store/agents/agents.ts';
import { type Front, type FrontAnswer, type FrontDependencies, standInFront } from './keepalive-front.ts';

const KEEP_ALIVE_MS = 300;
const OWNER = { machineId: 'm-1' } as AgentBearer;
const STORED: FrontAnswer = { status: 200, retryAfter: null, body: '{"status":"ok"}' };
const BODY = '{"machine_id":"m-1"}';
const REQUEST =
  `POST /api/v1/machine/keepalive HTTP/1.1\r\nHost: ingot\r\nAuthorization: Bearer secret\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

let server: Server;
let front: Front;
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  front.closeAll();
  server.close();
});

interface Given extends Partial<FrontDependencies> {
  readonly isCrowded?: boolean;
}

/** The parser's server answers "ordinary" to everything. */
async function standing({ isCrowded = false, ...given }: Given = {}): Promise<void> {
  server = createServer({ headersTimeout: 500, connectionsCheckingInterval: 20 }, (_request, response) => {
    response.end('ordinary');
  });
  front = standInFront(
    {
      tokens: { known: () => OWNER, owner: async () => OWNER },
      limits: { countCallOf: () => {} },
      answer: (_call, answered) => answered(STORED),
      ...given,
    },
    { server, keepAliveMs: KEEP_ALIVE_MS, patienceMs: 100, isCrowded: () => isCrowded },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

async function connected(): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

async function answerTo(request: string, socket?: Socket): Promise<string> {
  const to = socket ?? (await connected());
  to.write(request);
  const [data] = (await once(to, 'data')) as [Buffer];
  return data.toString();
}

it('answers one keepalive after the other on a connection', async () => {
  await standing();
  const socket = await connected();
  for (let n = 0; n < 3; n += 1) expect(await answerTo(REQUEST, socket)).toContain(STORED.body);
  expect(await answerTo('GET / HTTP/1.1\r\nHost: ingot\r\n\r\n', socket)).toContain('ordinary');
  // It stays with the parser.
  expect(await answerTo(REQUEST, socket)).toContain('ordinary');
});

it('asks for a token that it does not know, and leaves strangers to the parser', async () => {
  await standing({ tokens: { known: () => null, owner: async () => OWNER } });
  expect(await answerTo(REQUEST)).toContain(STORED.body);
  front.closeAll();
  server.close();
  for (const owner of [
    async () => null,
    async () => 'revoked' as const,
    () => Promise.reject(new Error('away')),
  ]) {
    await standing({ tokens: { known: () => null, owner } });
    expect(await answerTo(REQUEST)).toContain('ordinary');
    front.closeAll();
    server.close();
  }
  await standing();
});

it('leaves what is too often to the parser', async () => {
  await standing({
    limits: {
      countCallOf: () => {
        throw new Error('too many');
      },
    },
  });
  expect(await answerTo(REQUEST)).toContain('ordinary');
});

it('leaves a connection that is slow to the parser, which ends it', async () => {
  await standing();
  for (const part of ['', REQUEST.slice(0, 40)]) {
    const socket = await connected();
    const startedAt = performance.now();
    if (part !== '') socket.write(part);
    socket.resume();
    await once(socket, 'end');
    expect(performance.now() - startedAt).toBeGreaterThan(500);
  }
});

it('reads a body that comes later', async () => {
  await standing();
  const socket = await connected();
  socket.write(REQUEST.slice(0, -5));
  await sleep(20);
  expect(await answerTo(REQUEST.slice(-5), socket)).toContain(STORED.body);
});

it('ends a connection that is idle', async () => {
  await standing();
  const socket = await connected();
  await answerTo(REQUEST, socket);
  const startedAt = performance.now();
  await once(socket, 'close');
  expect(performance.now() - startedAt).toBeGreaterThan(KEEP_ALIVE_MS / 2);
});

it('ends connections with their answers when there are too many', async () => {
  await standing({ isCrowded: true });
  const socket = await connected();
  const answer = await answerTo(REQUEST, socket);
  // As a response without keep-alive writes it.
  expect(answer).toMatch(/\r\nDate: [^\r]+\r\nConnection: close\r\n\r\n/);
  expect(answer.match(/connection/gi)).toHaveLength(1);
  expect(answer).not.toContain('keep-alive');
  await once(socket, 'close');
});

it('answers what is under way when it closes, and ends the connection with it', async () => {
  const late: Array<() => void> = [];
  await standing({ answer: (_call, answered) => late.push(() => answered(STORED)) });
  const [busy, fresh] = [await connected(), await connected()];
  busy.write(REQUEST);
  while (late.length === 0) await sleep(5);
  front.close();
  expect(await answerTo(REQUEST, fresh)).toContain('ordinary');
  const answered = once(busy, 'data');
  const closed = once(busy, 'close');
  late[0]?.();
  const [data] = (await answered) as [Buffer];
  expect(data.toString()).toContain('Connection: close\r\n');
  await closed;
});

it('writes text that is not ASCII as UTF-8', async () => {
  await standing({ answer: (_call, answered) => answered({ ...STORED, body: '{"version":"é✓"}' }) });
  const answer = await answerTo(REQUEST);
  expect(answer).toContain('content-length: 19\r\n');
  expect(answer.endsWith('{"version":"é✓"}')).toBe(true);
});

it('leaves a client that does not read its answers to the parser, and loses none of them', async () => {
  let answers = 0;
  const large = { ...STORED, body: 'x'.repeat(16 * 1024 * 1024) };
  await standing({
    answer: (_call, answered) => {
      answers += 1;
      answered(large);
    },
  });
  const socket = await connected();
  socket.pause();
  socket.write(REQUEST);
  // An idle connection would have ended by now.
  await sleep(KEEP_ALIVE_MS * 1.5);
  socket.write(REQUEST);
  await sleep(20);
  expect(answers).toBe(1);
  let length = 0;
  let received = '';
  socket.on('data', (data: Buffer) => {
    length += data.length;
    received = (received + data.toString('latin1')).slice(-200);
  });
  socket.resume();
  await until(() => received.includes('ordinary'));
  expect(length).toBeGreaterThan(large.body.length);
});
