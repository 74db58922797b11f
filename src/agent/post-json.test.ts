import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createJsonPoster, type JsonPoster, NoAnswer } from './post-json.ts';

const never = new AbortController().signal;
const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function serving(answer: RequestListener): Promise<{ server: Server; url: URL }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`) };
}

function posterTo(url: URL, timeoutMs = 5000): JsonPoster {
  const poster = createJsonPoster({ server: url, token: () => 'tok-1', timeoutMs, userAgent: 'test' });
  closing.push(() => poster.close());
  return poster;
}

describe('posting JSON', () => {
  it('sends the token in the header, below the path of the server, on one connection', async () => {
    const seen: unknown[] = [];
    const sockets = new Set<Socket>();
    const { url } = await serving(async (request, response) => {
      let body = '';
      for await (const part of request) body += part;
      sockets.add(request.socket);
      seen.push([
        request.method,
        request.url,
        request.headers.authorization,
        request.headers['content-type'],
        body,
      ]);
      response.writeHead(503, { 'Retry-After': '7' }).end('{"error":"später"}');
    });
    const poster = posterTo(url);
    const answer = { status: 503, retryAfter: '7', body: '{"error":"später"}' };
    expect(await poster.post('/api', { a: 'ä' }, never)).toEqual(answer);
    expect(await poster.post('/api', { a: 'ä' }, never)).toEqual(answer);
    expect(seen[0]).toEqual(['POST', '/base/api', 'Bearer tok-1', 'application/json', '{"a":"ä"}']);
    expect(sockets.size).toBe(1);
  });

  it('does not take a connection that the server closed meanwhile for a failure', async () => {
    let requests = 0;
    const { url } = await serving((request, response) => {
      request.resume();
      requests += 1;
      // Closed while the second request is on its way: the moment that a keep-alive timeout may hit.
      if (requests === 2) request.socket.destroy();
      else response.end('{}');
    });
    const poster = posterTo(url);
    await poster.post('/', {}, never);
    expect((await poster.post('/', {}, never)).status).toBe(200);
    expect(requests).toBe(3);
  });

  it('does not follow redirects, which would carry the token away', async () => {
    const paths: (string | undefined)[] = [];
    const { url } = await serving((request, response) => {
      paths.push(request.url);
      request.resume();
      response.writeHead(307, { Location: '/elsewhere' }).end();
    });
    expect((await posterTo(url).post('/api', {}, never)).status).toBe(307);
    expect(paths).toEqual(['/base/api']);
  });

  it.each<[string, RequestListener, RegExp]>([
    ['does not respond', (request) => void request.resume(), /no answer within 0.2 s/],
    [
      'dribbles',
      (_request, response) => {
        const timer = setInterval(() => response.write(' '), 20);
        response.once('close', () => clearInterval(timer));
      },
      /no answer within 0.2 s/,
    ],
    ['hangs up', (request) => void request.socket.destroy(), /socket hang up|ECONNRESET/],
    [
      'hangs up in the middle',
      (_request, response) => {
        response.writeHead(200, { 'Content-Length': '100' }).write('{', () => response.destroy());
      },
      /aborted|ECONNRESET/,
    ],
  ])('gives up on a server that %s', async (_what, answer, reason) => {
    const { url } = await serving(answer);
    const failure = await posterTo(url, 200)
      .post('/', {}, never)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(NoAnswer);
    expect((failure as NoAnswer).message).toMatch(reason);
  });

  it('reads no more of an answer than it could mean', async () => {
    let written = 0;
    const { url } = await serving((_request, response) => {
      const more = (): void => {
        if (response.destroyed || written > 100e6) return;
        written += 65_536;
        response.write(Buffer.alloc(65_536), more);
      };
      more();
    });
    await expect(posterTo(url).post('/', {}, never)).rejects.toThrow('more than 64 KiB');
    expect(written).toBeLessThan(50e6);
  });

  it('says what is wrong with the way there', async () => {
    const { server, url } = await serving(() => {});
    server.close();
    await expect(posterTo(url).post('/', {}, never)).rejects.toThrow('ECONNREFUSED');
  });

  it('ends at once when it is stopped', async () => {
    const { url } = await serving((request) => void request.resume());
    const stop = new AbortController();
    const posted = posterTo(url, 60_000).post('/', {}, stop.signal);
    setTimeout(() => stop.abort(), 50);
    await expect(posted).rejects.toThrow('stopping');
    await expect(posterTo(url, 60_000).post('/', {}, stop.signal)).rejects.toThrow('stopping');
  });
});
