/**
 * Keepalives that are served in front of the parser of HTTP, beside the same bytes on a connection that the parser has: its
 * first request is one that only the parser serves. What comes back is compared byte by byte, without times.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { MachineTokens } from '../../src/surfaces/machine-tokens.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { createMachine, type Enrolled, enrol, keepalive } from './calls.ts';

let server: TestServer;
let machine: Enrolled;
let other: Enrolled;
let unregistered: Enrolled;

beforeAll(async () => {
  // Thousands of requests of one machine.
  server = await startTestServer({
    pools: ['gpu', 'cpu'],
    limits: {
      calls_per_second_per_identity: 0,
      calls_per_second_per_address: 0,
      failed_logins_per_address: 0,
    },
  });
  machine = await enrol(server);
  other = await enrol(server);
  unregistered = await createMachine(server);
});
afterAll(() => server?.stop());

class Client {
  readonly #socket: Socket;
  #received = '';
  isEnded = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (data: Buffer) => {
      this.#received += data.toString('utf8');
    });
    socket.on('end', () => {
      this.isEnded = true;
    });
    socket.on('error', () => {});
  }

  static async connect(): Promise<Client> {
    const socket = connect({ port: Number(new URL(server.httpUrl).port), host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new Client(socket);
  }

  /** A connection that the parser of HTTP has. */
  static async ordinary(): Promise<Client> {
    const client = await Client.connect();
    client.send('GET /healthz HTTP/1.1\r\nHost: ingot\r\n\r\n');
    await client.answers(1);
    return client;
  }

  send(text: string): void {
    this.#socket.write(text, 'latin1');
  }

  finish(): void {
    this.#socket.end();
  }

  /** What came, once there are so many answers, or the connection ended. */
  async answers(count: number): Promise<string> {
    await until(() => this.isEnded || answersIn(this.#received) >= count);
    const text = this.#received;
    this.#received = '';
    return text;
  }

  /** The same where the request may be one that the server waits for the rest of. */
  async answerWithin(ms: number): Promise<string> {
    const end = performance.now() + ms;
    while (!this.isEnded && answersIn(this.#received) === 0 && performance.now() < end) await sleep(5);
    // Further ones may still be on their way.
    return this.#received.split(/(?<=.)(?=HTTP\/1\.1 \d)/s)[0] ?? '';
  }

  close(): void {
    this.#socket.destroy();
  }
}

function answersIn(text: string): number {
  let count = 0;
  for (let rest = text; ; count += 1) {
    const end = rest.indexOf('\r\n\r\n');
    const length = /\r\ncontent-length: (\d+)/i.exec(rest);
    if (end < 0 || length === null || Buffer.byteLength(rest) < end + 4 + Number(length[1])) return count;
    rest = Buffer.from(rest)
      .subarray(end + 4 + Number(length[1]))
      .toString();
  }
}

function withoutTimes(text: string): string {
  return text
    .replace(/\r\nDate: [^\r]+/g, '\r\nDate: then')
    .replace(/"last_keepalive":"\d+"/g, '"last_keepalive":"then"')
    .replace(/\(request [0-9a-f-]+\)/g, '(request id)');
}

interface Sent {
  readonly line?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly more?: string;
  readonly body?: unknown;
  readonly token?: string | null;
}

const LINE = 'POST /api/v1/machine/keepalive HTTP/1.1';

/** One header after the other, each as it is given; an empty value leaves it out. */
function requestOf({
  line = LINE,
  headers = {},
  more = '',
  body = keepalive(machine),
  token = machine.token,
}: Sent) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const all: Record<string, string> = {
    Host: '127.0.0.1',
    Authorization: token === null ? '' : `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(text, 'latin1')),
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === '' ? [] : [`${name}: ${value}\r\n`],
  );
  return `${line}\r\n${lines.join('')}${more}\r\n${text}`;
}

async function bothWays(parts: readonly string[], count: number): Promise<[front: string, ordinary: string]> {
  const answers: string[] = [];
  for (const client of [await Client.connect(), await Client.ordinary()]) {
    for (const [index, part] of parts.entries()) {
      if (index > 0) await sleep(20);
      client.send(part);
    }
    answers.push(withoutTimes(await client.answers(count)));
    client.close();
  }
  return answers as [string, string];
}

const AT_ONCE = 20;

async function inTurns<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

const usual: ReadonlyArray<readonly [what: string, sent: () => Sent]> = [
  ['the usual keepalive', () => ({})],
  ['one whose client ends the connection', () => ({ headers: { Connection: 'close' } })],
  ['one whose client keeps the connection', () => ({ headers: { Connection: 'keep-alive' } })],
  [
    'the headers of Python',
    () => ({
      headers: { 'User-Agent': 'python-requests/2.31', Accept: '*/*', 'Accept-Encoding': 'gzip, deflate' },
    }),
  ],
  [
    'small letters',
    () => ({
      headers: {
        Host: '',
        Authorization: '',
        'Content-Type': '',
        host: 'a',
        authorization: `Bearer ${machine.token}`,
        'content-type': 'application/json',
      },
    }),
  ],
  ['another machine’s id', () => ({ body: keepalive(other) })],
  ['another pool', () => ({ body: keepalive(machine, { pool_name: 'cpu' }) })],
  ['another provider', () => ({ body: keepalive(machine, { provider_name: 'fake' }) })],
  ['no pool', () => ({ body: keepalive(machine, { pool_name: '' }) })],
  ['no machine', () => ({ body: keepalive(machine, { machine_id: undefined }) })],
  ['a malformed machine id', () => ({ body: keepalive(machine, { machine_id: '..' }) })],
  ['a number as its pool', () => ({ body: keepalive(machine, { pool_name: 7 }) })],
  ['no metrics', () => ({ body: keepalive(machine, { metrics: undefined }) })],
  [
    'metrics that can’t be kept',
    () => ({ body: keepalive(machine, { metrics: { cpu_utilization_pct: -1 } }) }),
  ],
  ['a version that can’t be kept', () => ({ body: keepalive(machine, { agent_version: 'v'.repeat(65) }) })],
  ['no version', () => ({ body: keepalive(machine, { agent_version: undefined }) })],
  ['a number as its body', () => ({ body: '7' })],
  ['a text as its body', () => ({ body: '"machine"' })],
  ['a machine that has not registered', () => ({ token: unregistered.token, body: keepalive(unregistered) })],
];

const unusual: typeof usual = [
  ['a wrong token', () => ({ token: 'wrong' })],
  ['no token', () => ({ token: null })],
  ['an operator’s token', () => ({ token: server.adminToken })],
  ['two tokens', () => ({ more: `Authorization: Bearer ${other.token}\r\n` })],
  ['two lengths', () => ({ more: 'Content-Length: 5\r\n' })],
  ['a length in another notation', () => ({ headers: { 'Content-Length': '+268' } })],
  ['a length and chunks', () => ({ more: 'Transfer-Encoding: chunked\r\n' })],
  ['no host', () => ({ headers: { Host: '' } })],
  ['a malformed host', () => ({ headers: { Host: 'a b' } })],
  ['another content type', () => ({ headers: { 'Content-Type': 'text/plain' } })],
  [
    'a content type with a charset',
    () => ({ headers: { 'Content-Type': 'application/json; charset=utf-8' } }),
  ],
  ['a body that is no JSON', () => ({ body: '{"machine_id"' })],
  ['a body with nothing in it', () => ({ headers: { 'Content-Length': '0' }, body: '' })],
  ['a prototype', () => ({ body: '{"__proto__":{"machine_id":"m"}}' })],
  ['a constructor', () => ({ body: '{"constructor":{"prototype":{"machine_id":"m"}}}' })],
  ['a lone surrogate', () => ({ body: '{"machine_id":"\\ud800"}' })],
  ['bytes that are not UTF-8', () => ({ body: '{"machine_id":"\xff"}' })],
  ['very many levels', () => ({ body: `${'{"a":'.repeat(40)}1${'}'.repeat(40)}` })],
  ['a body that is too large', () => ({ body: keepalive(machine, { more: 'x'.repeat(20_000) }) })],
  ['a list', () => ({ body: [keepalive(machine)] })],
  ['a header without a value', () => ({ more: 'Accept:\r\n' })],
  ['a header on two lines', () => ({ more: 'Accept: a,\r\n b\r\n' })],
  ['a line that is not a header', () => ({ more: 'Accept\r\n' })],
  ['a space before the colon', () => ({ more: 'Accept : */*\r\n' })],
  ['an unknown header', () => ({ more: 'X-Forwarded-For: 10.0.0.1\r\n' })],
  ['100-continue', () => ({ headers: { Expect: '100-continue' } })],
  ['a query', () => ({ line: 'POST /api/v1/machine/keepalive?a=1 HTTP/1.1' })],
  ['HTTP/1.0', () => ({ line: 'POST /api/v1/machine/keepalive HTTP/1.0' })],
  ['another method', () => ({ line: 'PUT /api/v1/machine/keepalive HTTP/1.1' })],
  ['no method', () => ({ line: 'KEEP /api/v1/machine/keepalive HTTP/1.1' })],
];

describe('a keepalive', () => {
  it.each([...usual, ...unusual])(
    'with %s has the same answer in front and after the parser',
    async (_what, sent) => {
      const request = requestOf(sent());
      const [front, ordinary] = await bothWays([request], 1);
      expect(front).toMatch(/^HTTP\/1\.1 \d{3} /);
      expect(front).toBe(ordinary);
    },
  );

  it.each([30, 150, 300])('in two parts, the first of %d bytes, has the same answer', async (bytes) => {
    const request = requestOf({});
    const [front, ordinary] = await bothWays([request.slice(0, bytes), request.slice(bytes)], 1);
    expect(front).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(front).toBe(ordinary);
  });

  it('is answered in turn when more is sent before its answer', async () => {
    const wrong = requestOf({ body: keepalive(other) });
    const health = 'GET /healthz HTTP/1.1\r\nHost: ingot\r\n\r\n';
    for (const parts of [
      [requestOf({}), wrong, health, requestOf({})],
      [requestOf({}) + wrong + health + requestOf({})],
      [`${requestOf({})}GET /heal`, `thz HTTP/1.1\r\nHost: ingot\r\n\r\n${wrong}${requestOf({})}`],
    ]) {
      const [front, ordinary] = await bothWays(parts, 4);
      expect(front).toBe(ordinary);
      expect(front.match(/HTTP\/1\.1 \d+/g)).toHaveLength(4);
    }
  });

  it('in two parts at any byte has the same answer', { tags: ['extended'], timeout: 120_000 }, async () => {
    const request = requestOf({});
    const places = Array.from({ length: request.length - 1 }, (_, place) => place + 1);
    await inTurns(places, async (place) => {
      const [front, ordinary] = await bothWays([request.slice(0, place), request.slice(place)], 1);
      expect([place, front]).toEqual([place, ordinary]);
      expect(front).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    });
  });

  it('with any byte changed, inserted or left out has the same answer', {
    tags: ['extended'],
    timeout: 240_000,
  }, async () => {
    const request = requestOf({});
    const changed = Array.from(request).flatMap((_, at) => [
      request.slice(0, at) + request.slice(at + 1),
      ...['\0', '\n', '\r', '\t', '{', '\x80', '"', ':', ','].flatMap((byte) => [
        request.slice(0, at) + byte + request.slice(at + 1),
        request.slice(0, at) + byte + request.slice(at),
      ]),
    ]);
    await inTurns(changed, async (text) => {
      const clients = [await Client.connect(), await Client.ordinary()];
      for (const client of clients) client.send(text);
      const answers = await Promise.all(clients.map((client) => client.answerWithin(600)));
      for (const client of clients) client.close();
      const [front, ordinary] = answers.map((answer) =>
        // What is stored in one batch with another version has the last one.
        withoutTimes(answer).replace(/"agent_version":".*?"/, ''),
      );
      expect([text, front]).toEqual([text, ordinary]);
    });
  });

  it('that ends in its middle is refused as the parser refuses it', async () => {
    const answers: string[] = [];
    for (const client of [await Client.connect(), await Client.ordinary()]) {
      client.send(requestOf({}).slice(0, -10));
      await sleep(20);
      client.finish();
      answers.push(await client.answers(1));
    }
    expect(answers[0]).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answers[0]).toBe(answers[1]);
  });
});

it('a wrong token is looked up once, and again for the next request of its connection', async () => {
  const lookups = vi.spyOn(MachineTokens.prototype, 'owner');
  const client = await Client.connect();
  for (const count of [1, 2]) {
    client.send(requestOf({ token: 'wrong' }));
    expect(await client.answers(1)).toMatch(/^HTTP\/1\.1 403 /);
    expect(lookups).toHaveBeenCalledTimes(count);
  }
  client.close();
  lookups.mockRestore();
});

describe('while the database takes no connections', () => {
  let elsewhere: pg.Client;
  let unknown: Enrolled;
  const database = () => new URL(server.database.url).pathname.slice(1);

  beforeAll(async () => {
    unknown = await createMachine(server);
    // The front knows these tokens, and not the other.
    for (const known of [machine, other])
      await bothWays([requestOf({ token: known.token, body: keepalive(known) })], 1);
    elsewhere = new pg.Client({ connectionString: inject('postgresUrl') });
    await elsewhere.connect();
    await elsewhere.query(`ALTER DATABASE ${database()} ALLOW_CONNECTIONS false`);
    await elsewhere.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
      database(),
    ]);
    await until(
      () => fetch(`${server.httpUrl}/readyz`),
      ({ status }) => status === 503,
    );
  });
  afterAll(async () => {
    await elsewhere.query(`ALTER DATABASE ${database()} ALLOW_CONNECTIONS true`);
    await elsewhere.end();
  });

  it.each([
    ['a known token', 503, () => ({})],
    ['an unknown token', 503, () => ({ token: unknown.token, body: keepalive(unknown) })],
    ['the end of its connection', 503, () => ({ headers: { Connection: 'close' } })],
    ['another machine’s id', 403, () => ({ body: keepalive(other) })],
    ['no pool', 400, () => ({ body: keepalive(machine, { pool_name: '' }) })],
  ] as ReadonlyArray<readonly [what: string, status: number, sent: () => Sent]>)(
    'a keepalive with %s is %d in front and after the parser',
    async (_what, status, sent) => {
      const [front, ordinary] = await bothWays([requestOf(sent())], 1);
      expect(front).toContain(`HTTP/1.1 ${status} `);
      expect(front).toBe(ordinary);
    },
  );
});
