import { describe, expect, it } from 'vitest';
import { readUsualRequest } from './usual-request.ts';

const LINE = 'POST /api/v1/machine/keepalive HTTP/1.1';
const BODY = '{"machine_id": "m-1", "metrics": {"worker_count": 1}}';

function request(headers: Readonly<Record<string, string>> = {}, body = BODY, line = LINE): Buffer {
  const all = {
    Host: 'ingot:8080',
    Authorization: 'Bearer secret',
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== '');
  return Buffer.from(
    `${line}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  );
}

describe('is read', () => {
  it.each([
    ['as it is', {}],
    ['of curl', { 'User-Agent': 'curl/8.5.0', Accept: '*/*' }],
    [
      'of Python',
      {
        'User-Agent': 'python-requests/2.31',
        'Accept-Encoding': 'gzip, deflate',
        Accept: '*/*',
        Connection: 'keep-alive',
      },
    ],
    [
      'of Ingot’s own agent',
      { Accept: 'application/json', 'User-Agent': 'ingot-agent/1.0.0', Connection: 'keep-alive' },
    ],
  ])('a request %s', (_of, headers) => {
    expect(readUsualRequest(request(headers))).toEqual({
      authorization: 'Bearer secret',
      body: BODY,
      isLast: false,
    });
  });

  it('one that ends its connection', () => {
    expect(readUsualRequest(request({ Connection: 'close' }))).toMatchObject({ isLast: true });
  });

  it('one whose body has not all arrived, without its body', () => {
    expect(readUsualRequest(request().subarray(0, -1))).toMatchObject({ body: null });
    expect(readUsualRequest(request().subarray(0, -BODY.length))).toMatchObject({ body: null });
  });
});

describe('is left to the parser', () => {
  it.each([
    ['another path', {}, BODY, 'POST /api/v1/machine/register HTTP/1.1'],
    ['another version', {}, BODY, 'POST /api/v1/machine/keepalive HTTP/1.0'],
    ['an unknown header', { Cookie: 'a=b' }],
    ['a header that objects have by themselves', { constructor: 'a' }],
    ['the same header twice, in other letters', { host: 'ingot' }],
    ['no host', { Host: '' }],
    ['no token', { Authorization: '' }],
    ['another kind of credential', { Authorization: 'Basic secret' }],
    ['chunks', { 'Transfer-Encoding': 'chunked' }],
    ['another length', { 'Content-Length': '+53' }],
    ['a length that is too short', { 'Content-Length': String(BODY.length - 1) }],
    ['a proxy’s word', { 'X-Forwarded-For': '10.0.0.1' }],
    ['a client that waits', { Expect: '100-continue' }],
    ['an escape', {}, '{"machine_id":"\\u0000"}'],
    ['text beyond ASCII', {}, '{"machine_id":"é"}'],
    ['a list', {}, '{"machine_id":["m-1"]}'],
    ['many levels', {}, `${'{"a":'.repeat(9)}1${'}'.repeat(9)}`],
    ['a prototype', {}, '{"__proto__":{}}'],
    ['a long body', {}, `{"a":"${'x'.repeat(2_100)}"}`],
  ] as Array<[what: string, headers: Record<string, string>, body?: string, line?: string]>)(
    'a request with %s',
    (_with, headers, body, line) => {
      expect(readUsualRequest(request(headers, body, line))).toBeNull();
    },
  );

  it('one that another follows, half a head, and a line that ends oddly', () => {
    expect(readUsualRequest(Buffer.concat([request(), request()]))).toBeNull();
    expect(readUsualRequest(request().subarray(0, 60))).toBeNull();
    const odd = request().toString().replace('\r\nHost', '\nHost');
    expect(readUsualRequest(Buffer.from(odd))).toBeNull();
    const folded = request().toString().replace('ingot:8080\r\n', 'ingot\r\n 8080\r\n');
    expect(readUsualRequest(Buffer.from(folded))).toBeNull();
  });
});
