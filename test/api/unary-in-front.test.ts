/**
 * Unary calls of Connect that are answered in front of fastify, beside the same bytes with a deadline, which the library answers. What
 * comes back is compared header by header, without times and the ids of requests.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { newMachine } from './fleet.ts';

const GET = '/baremetal.v2.MachineService/GetMachine';
const LIST = '/baremetal.v2.MachineService/ListMachines';
const REGISTER = '/baremetal.v2.MachineService/RegisterMachine';
const WATCH = '/baremetal.v2.MachineService/WatchMachines';
const WHO = '/baremetal.fleet.v1.FleetService/WhoAmI';

let server: TestServer;
let machineId: string;

beforeAll(async () => {
  server = await startTestServer({
    limits: { calls_per_second_per_address: 0, failed_logins_per_address: 0 },
  });
  machineId = await newMachine(server, { labels: { rack: 'é✓', long: 'x'.repeat(1_100) } });
});
afterAll(() => server?.stop());

type Header = readonly [name: string, value: string];

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly version?: string;
  /** Null: without it. */
  readonly host?: string | null;
  readonly token?: string | null;
  readonly type?: string | null;
  readonly more?: readonly Header[];
  readonly body?: string | Buffer;
  /** The body is sent as it is, with a header in `more` that says how long it is. */
  readonly isFramed?: true;
}

function requestOf(sent: Sent, extra: readonly Header[]): Buffer {
  const { method = 'POST', path = GET, version = '1.1', host = 'ingot', type = 'application/json' } = sent;
  const { token = server.adminToken, more = [], body = JSON.stringify({ machineId }) } = sent;
  const bytes = Buffer.from(body);
  const headers: Header[] = [
    ...(host === null ? [] : [['Host', host] as const]),
    ...(token === null ? [] : [['Authorization', `Bearer ${token}`] as const]),
    ...(type === null ? [] : [['Content-Type', type] as const]),
    ...(sent.isFramed ? [] : [['Content-Length', String(bytes.length)] as const]),
    ...more,
    ...extra,
  ];
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/${version}\r\n${lines}\r\n`, 'latin1'), bytes]);
}

interface Answer {
  readonly status: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** Null: it has not all arrived. */
function answerIn(received: Buffer, hasBody: boolean): Answer | null {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [status = '', ...headers] = received.subarray(0, end).toString('latin1').split('\r\n');
  if (status.startsWith('HTTP/1.1 100 ')) return answerIn(received.subarray(end + 4), hasBody);
  const body = received.subarray(end + 4);
  if (!hasBody) return { status, headers, body };
  const textOf = (name: string) =>
    headers.find((line) => line.toLowerCase().startsWith(`${name}: `))?.slice(name.length + 2);
  if (textOf('transfer-encoding') === 'chunked')
    return body.toString('latin1').endsWith('0\r\n\r\n') ? { status, headers, body } : null;
  if (body.length < Number(textOf('content-length') ?? 0)) return null;
  const encoding = textOf('content-encoding');
  const plain =
    encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body;
  return { status, headers, body: plain };
}

async function answerTo(bytes: Buffer, hasBody: boolean) {
  const socket = connect({ port: Number(new URL(server.httpUrl).port), host: '127.0.0.1', noDelay: true });
  let received = Buffer.alloc(0);
  socket.on('data', (data: Buffer) => {
    received = Buffer.concat([received, data]);
  });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(bytes);
  const answer = await until(
    () => answerIn(received, hasBody),
    (found) => found !== null,
  );
  socket.destroy();
  return answer && comparable(answer);
}

/** They have the id of the request, encoded. */
const DETAILS = /"details":\[.*\]|grpc-status-details-bin: \S+/;
const REQUEST_ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The library compresses harder, so a length may differ. */
function comparable({ status, headers, body }: Answer) {
  const isCompressed = headers.some((line) => line.startsWith('content-encoding'));
  const kept = headers
    .filter((line) => !line.startsWith('Date: ') && !(isCompressed && line.startsWith('content-length')))
    .sort();
  return {
    status,
    headers: kept,
    body: body.toString('latin1').replace(REQUEST_ID, 'id').replace(DETAILS, ''),
  };
}

function inFrames(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`;
}

const named = () => JSON.stringify({ machineId });
const binary = () => Buffer.concat([Buffer.from([0x0a, machineId.length]), Buffer.from(machineId)]);
const withHeader = (name: string, value: string) => (): Sent => ({ more: [[name, value]] });
const withBody = (body: string | Buffer) => (): Sent => ({ body });
const withType = (type: string | null) => (): Sent => ({ type });
const chunked = (body: string): Sent => ({ more: [['Transfer-Encoding', 'chunked']], isFramed: true, body });

const calls: ReadonlyArray<readonly [what: string, sent: () => Sent]> = [
  ['the usual call', () => ({})],
  ['a binary message', () => ({ type: 'application/proto', body: binary() })],
  [
    'an unknown field in a binary message',
    () => ({ type: 'application/proto', body: Buffer.concat([binary(), Buffer.from([0xf8, 7, 1])]) }),
  ],
  [
    'a binary message that is cut off',
    () => ({ type: 'application/proto', body: Buffer.from([0x0a, 9, 1]) }),
  ],
  ['an empty binary message', () => ({ type: 'application/proto', body: '' })],
  ['nothing', withBody('')],
  ['an empty message', withBody('{}')],
  ['null', withBody('null')],
  ['a list', withBody('[]')],
  ['an unknown field', () => ({ body: JSON.stringify({ machineId, more: 1 }) })],
  ['both names of a field', withBody('{"machineId":"a","machine_id":"b"}')],
  ['one name twice', () => ({ body: `{"machineId":"a","machineId":"${machineId}"}` })],
  ['one name twice, once escaped', () => ({ body: `{"machineId":"a","machine\\u0049d":"${machineId}"}` })],
  ['a field that is null', withBody('{"machineId":null}')],
  ['a field of another kind', withBody('{"machineId":7}')],
  ['a prototype', withBody('{"__proto__":{"machineId":"a"}}')],
  ['a machine that is not there', withBody('{"machineId":"nothing"}')],
  ['NUL', withBody('{"machineId":"a\\u0000"}')],
  ['half a surrogate pair', withBody('{"machineId":"\\ud800"}')],
  ['bytes that are not UTF-8', withBody(Buffer.from([0x7b, 0xff, 0x7d]))],
  ['a byte order mark', () => ({ body: `\ufeff${named()}` })],
  ['many levels', withBody(`{"machineId":${'['.repeat(50)}${']'.repeat(50)}}`)],
  ['many values', withBody(`{"a":[${'1,'.repeat(5_000)}1]}`)],
  ['half a message', () => ({ body: named().slice(0, -3) })],
  ['a large message', () => ({ body: JSON.stringify({ machineId: 'x'.repeat(70_000) }) })],
  ['chunks', () => chunked(inFrames(named()))],
  ['chunks that are too large together', () => chunked(inFrames('x'.repeat(70_000)))],
  [
    'a length and chunks',
    () => ({
      more: [
        ['Content-Length', '5'],
        ['Transfer-Encoding', 'chunked'],
      ],
      isFramed: true,
      body: inFrames(named()),
    }),
  ],
  [
    'two lengths',
    () => ({
      more: [
        ['Content-Length', '5'],
        ['Content-Length', '6'],
      ],
      isFramed: true,
    }),
  ],
  ['a charset', withType('application/json; charset=utf-8')],
  ['another charset', withType('application/json; charset=latin1')],
  ['a type in capital letters', withType('Application/JSON')],
  ['no type', withType(null)],
  ['another type', withType('text/plain')],
  ['gRPC-Web', withType('application/grpc-web+json')],
  ['the type of a stream', withType('application/connect+json')],
  ['two types', withHeader('Content-Type', 'application/proto')],
  ['a compressed message', () => ({ more: [['Content-Encoding', 'gzip']], body: gzipSync(named()) })],
  ['a message that is not compressed, and says so', withHeader('Content-Encoding', 'identity')],
  ['an unknown compression', withHeader('Content-Encoding', 'zstd')],
  ['gzip for the answer', withHeader('Accept-Encoding', 'gzip')],
  ['brotli for the answer', withHeader('Accept-Encoding', 'x, br;q=1,  br')],
  ['any compression for the answer', withHeader('Accept-Encoding', '*')],
  ['a version of Connect', withHeader('Connect-Protocol-Version', '1')],
  ['another version of Connect', withHeader('Connect-Protocol-Version', '2')],
  ['no token', () => ({ token: null })],
  ['a wrong token', () => ({ token: 'wrong' })],
  ['a wrong token and a large message', () => ({ token: 'wrong', body: 'x'.repeat(70_000) })],
  ['two tokens', withHeader('Authorization', 'Bearer wrong')],
  ['a cookie of no session', () => ({ token: null, more: [['Cookie', 'ingot_session=a']] })],
  [
    'a page of another site',
    () => ({
      token: null,
      more: [
        ['Cookie', 'ingot_session=a'],
        ['Origin', 'https://other.example'],
        ['Sec-Fetch-Site', 'cross-site'],
      ],
    }),
  ],
  ['a page of another site, and a token', withHeader('Origin', 'https://other.example')],
  ['an address that a client made up', withHeader('X-Forwarded-For', '192.0.2.1')],
  ['a reason', withHeader('Ingot-Reason', 'because')],
  ['a reason that is too long', withHeader('Ingot-Reason', 'x'.repeat(5_000))],
  ['a reason that is not text', withHeader('Ingot-Reason', '\x80\xff')],
  ['a query', () => ({ path: `${GET}?a=b` })],
  ['an escape in the path', () => ({ path: GET.replace('Get', '%47et') })],
  ['an absolute URI', () => ({ path: `http://ingot${GET}` })],
  ['small letters in the path', () => ({ path: GET.toLowerCase() })],
  ['GET', () => ({ method: 'GET', body: '' })],
  [
    'GET with a message',
    () => ({ method: 'GET', path: `${GET}?message=%7B%7D&encoding=json`, type: null, body: '' }),
  ],
  ['HEAD', () => ({ method: 'HEAD', body: '' })],
  [
    'OPTIONS',
    () => ({
      method: 'OPTIONS',
      more: [
        ['Origin', 'https://other.example'],
        ['Access-Control-Request-Method', 'POST'],
      ],
      body: '',
    }),
  ],
  ['PUT', () => ({ method: 'PUT' })],
  ['HTTP/1.0', () => ({ version: '1.0' })],
  ['HTTP/1.0 that stays', () => ({ version: '1.0', more: [['Connection', 'keep-alive']] })],
  ['the end of the connection', withHeader('Connection', 'close')],
  [
    'an upgrade',
    () => ({
      more: [
        ['Connection', 'Upgrade, HTTP2-Settings'],
        ['Upgrade', 'h2c'],
        ['HTTP2-Settings', 'AAMAAABk'],
      ],
    }),
  ],
  ['no host', () => ({ host: null })],
  ['a malformed host', () => ({ host: 'a b' })],
  ['two hosts', withHeader('Host', 'other')],
  ['100-continue', withHeader('Expect', '100-continue')],
  ['100-continue, and a wrong token', () => ({ token: 'wrong', more: [['Expect', '100-continue']] })],
  ['another expectation', withHeader('Expect', 'more')],
  ['a list', () => ({ path: LIST, body: '{"pageSize":1}' })],
  ['a wrong page', () => ({ path: LIST, body: '{"pageToken":"wrong"}' })],
  ['a wrong filter', () => ({ path: LIST, body: '{"filter":"(("}' })],
  ['a change that is refused', () => ({ path: REGISTER, body: '{"machine":{"machineId":".."}}' })],
  ['the name of the caller', () => ({ path: WHO, body: '{}' })],
  ['a stream', () => ({ path: WATCH, body: '{}' })],
  ['a method that is not there', () => ({ path: `${GET}s` })],
];

it.each(calls)('%s is answered as by the library', async (_what, sent) => {
  const hasBody = sent().method !== 'HEAD';
  const front = await answerTo(requestOf(sent(), []), hasBody);
  const library = await answerTo(requestOf(sent(), [['Connect-Timeout-Ms', '30000']]), hasBody);
  expect(front?.status).toMatch(/^HTTP\/1\.1 \d{3} /);
  expect(front).toEqual(library);
});
