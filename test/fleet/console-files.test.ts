import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { consoleFiles } from '../../src/surfaces/console-files.ts';
import { type HttpServer, startHttpServer } from '../../src/surfaces/http-server.ts';
import { Readiness } from '../../src/surfaces/readiness.ts';
import type { CallDependencies } from '../../src/surfaces/rpc/service.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

const INDEX = '<!doctype html><title>Ingot</title>';
const SCRIPT = 'console.log("a script that is long enough to be worth packing");\n'.repeat(20);

const folder = mkdtempSync(join(tmpdir(), 'ingot-console-'));
const root = join(folder, 'console');
mkdirSync(join(root, 'assets'), { recursive: true });
for (const [name, content] of [
  ['index.html', INDEX],
  ['favicon.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
  ['.env', 'SECRET=1'],
  ['assets/app-1a2b.js', SCRIPT],
  ['assets/app-1a2b.js.br', brotliCompressSync(SCRIPT)],
  ['assets/app-1a2b.js.gz', gzipSync(SCRIPT)],
  ['assets/plain-3c4d.css', 'body{}'],
  ['assets/tool.sh', 'exit 0'],
] as const)
  writeFileSync(join(root, name), content);
writeFileSync(join(folder, 'outside.js'), 'outside');

let built: HttpServer;
let unbuilt: HttpServer;

function serve(directory: string): Promise<HttpServer> {
  return startHttpServer({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    services: [],
    dependencies: { logUnexpected: console.error } as unknown as CallDependencies,
    routes: [(app) => consoleFiles(app, { root: directory })],
    readiness: new Readiness(),
  });
}

let whole: TestServer;

beforeAll(async () => {
  built = await serve(root);
  unbuilt = await serve(join(folder, 'nowhere'));
  whole = await startTestServer();
});
afterAll(async () => {
  await built?.stop(0);
  await unbuilt?.stop(0);
  await whole?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** The path goes out as it is: fetch would tidy up what leads out of the folder. */
function get(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, path, headers, method }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }),
      );
    });
    call.on('error', reject);
    call.end();
  });
}

const PAGE = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

describe('pages', () => {
  test.each([
    '/',
    '/fleet',
    '/machines?filter=a',
    '/machines/node1.example',
    '/operations/op-1/logs',
    '/apis',
  ])('%s is the console', async (path) => {
    const { status, headers, body } = await get(built.port, path, PAGE);
    expect({ status, body: body.toString() }).toEqual({ status: 200, body: INDEX });
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': CSP,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'x-frame-options': 'DENY',
    });
    expect(headers.etag).toBeTruthy();
  });

  test('styles inside of the page are allowed by their digest, and follow a new build', async () => {
    const styled = mkdtempSync(join(folder, 'styled-'));
    const server = await serve(styled);
    for (const styles of ['body{color:red}', 'body{color:navy}']) {
      writeFileSync(join(styled, 'index.html'), `<style>${styles}</style>`);
      const digest = createHash('sha256').update(styles).digest('base64');
      for (const path of ['/fleet', '/index.html']) {
        const { headers } = await get(server.port, path, PAGE);
        const policy = CSP.replace("style-src 'self'", `style-src 'self' 'sha256-${digest}'`);
        expect(headers['content-security-policy']).toBe(policy);
      }
    }
    await server.stop(0);
  });

  test('the first page is served to a client without an Accept header', async () => {
    expect((await get(built.port, '/')).status).toBe(200);
  });

  test.each([
    ['/api', PAGE],
    ['/api/v1/nothing', PAGE],
    ['/boot/nothing', PAGE],
    ['/assets/nothing.js', PAGE],
    ['/baremetal.v2.MachineService/GetMachine', PAGE],
    ['/fleet', { accept: 'application/json' }],
    ['/nothing', {}],
  ])('%s with %j is not', async (path, headers) => {
    const answer = await get(built.port, path, headers);
    expect(answer.status).toBe(404);
    expect(answer.headers['content-type']).toContain('application/problem+json');
  });

  test('health and readiness are what they were', async () => {
    for (const path of ['/healthz', '/readyz'])
      expect((await get(built.port, path, PAGE)).headers['content-type']).toContain('application/json');
  });

  test('HEAD has the headers and no body', async () => {
    const answer = await get(built.port, '/fleet', PAGE, 'HEAD');
    expect(answer).toMatchObject({ status: 200, body: Buffer.alloc(0) });
    expect(answer.headers['content-security-policy']).toBe(CSP);
  });

  test('an ETag that still holds is answered without a body', async () => {
    const { headers } = await get(built.port, '/', PAGE);
    const again = await get(built.port, '/', { ...PAGE, 'if-none-match': String(headers.etag) });
    expect(again).toMatchObject({ status: 304, body: Buffer.alloc(0) });
    expect(again.headers['content-security-policy']).toBe(CSP);
  });
});

describe('files', () => {
  const types = [
    ['/assets/app-1a2b.js', 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['/assets/plain-3c4d.css', 'text/css; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['/favicon.svg', 'image/svg+xml; charset=utf-8', 'no-cache'],
  ] as const;
  test.each(types)('%s is %s, %s', async (path, type, caching) => {
    const { status, headers } = await get(built.port, path);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': type,
      'cache-control': caching,
      'x-content-type-options': 'nosniff',
      'content-security-policy': CSP,
    });
  });

  test.each([
    ['gzip, deflate, br', 'br', brotliCompressSync(SCRIPT)],
    ['gzip', 'gzip', gzipSync(SCRIPT)],
    ['br;q=0.0, gzip;q=0.5', 'gzip', gzipSync(SCRIPT)],
    ['identity', undefined, Buffer.from(SCRIPT)],
  ])('with %j it comes as %s', async (accepted, encoding, body) => {
    const answer = await get(built.port, '/assets/app-1a2b.js', { 'accept-encoding': accepted });
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(answer.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(answer.headers.vary).toBe('accept-encoding');
    expect(answer.body.equals(body)).toBe(true);
  });

  test('one that was not packed comes as it is', async () => {
    const { headers, body } = await get(built.port, '/assets/plain-3c4d.css', { 'accept-encoding': 'br' });
    expect(headers['content-encoding']).toBeUndefined();
    expect(body.toString()).toBe('body{}');
  });

  test.each([
    '/assets/../../outside.js',
    '/assets/..%2f..%2foutside.js',
    '/assets/%2e%2e/%2e%2e/outside.js',
    '/..%2foutside.js',
    '/assets/..%5c..%5coutside.js',
    '/.env',
    '/assets/',
    '/assets/%00.js',
    '/assets/tool.sh',
    '/assets/app-1a2b.js.br',
    `/assets/${'a'.repeat(600)}.js`,
    '//etc/passwd',
    '/assets/%',
  ])('%s leads nowhere', async (path) => {
    const { status, body } = await get(built.port, path);
    expect([400, 404]).toContain(status);
    expect(body.toString()).not.toMatch(/outside"|SECRET|exit 0|root:/);
  });
});

test('without a build, the answer says how to make one', async () => {
  for (const path of ['/', '/fleet']) {
    const { status, headers, body } = await get(unbuilt.port, path, PAGE);
    expect(status).toBe(503);
    expect(headers['content-security-policy']).toBe(CSP);
    expect(body.toString()).toContain('npm run build');
  }
  expect((await get(unbuilt.port, '/assets/app-1a2b.js')).status).toBe(404);
});

test('the whole server has it beside all that it had', async () => {
  const port = Number(new URL(whole.httpUrl).port);
  const { headers } = await get(port, '/fleet', PAGE);
  // The built page has styles of its own.
  const policy = String(headers['content-security-policy']).replace(/ 'sha256-[^']+'/, '');
  expect(policy).toBe(CSP);
  expect((await get(port, '/api/v1/nodes', PAGE)).status).toBe(401);
  expect((await get(port, '/boot/nothing', PAGE)).status).toBe(404);
  expect((await get(port, '/api/v1/boot', PAGE)).body.toString()).toContain('#!ipxe');
});
