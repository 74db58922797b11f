/**
 * POSTs JSON and reads the response, with limits: one time limit over all of it (also for a server that sends slowly), a
 * limit on the size of the response, and no redirects, which would send the token to another host. It uses `node:http`
 * instead of `fetch`, to recognize a stale connection.
 */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { SecureContextOptions } from 'node:tls';

export interface HttpAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

/** No response. The server may or may not have received the request. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

export interface JsonPoster {
  post(path: string, body: unknown, stop: AbortSignal): Promise<HttpAnswer>;
  close(): void;
}

export interface JsonPosterOptions {
  /** Its path, if any, is the prefix of all request paths. */
  readonly server: URL;
  /** Called for each request: the token may be replaced. Null: without one. */
  readonly token: () => string | null;
  /** Called for each request: another object makes a new connection. */
  readonly tls?: () => SecureContextOptions;
  readonly timeoutMs: number;
  readonly userAgent: string;
}

/** Responses have a few hundred bytes. */
const LONGEST_ANSWER = 64 * 1024;

export function createJsonPoster(options: JsonPosterOptions): JsonPoster {
  const { server, token, timeoutMs, userAgent } = options;
  const request = server.protocol === 'https:' ? requestHttps : requestHttp;
  const connections = connectionsTo(options);
  const base = `${server.origin}${server.pathname.replace(/\/+$/, '')}`;

  const attempt = (url: string, body: string, stop: AbortSignal): Promise<HttpAnswer | 'stale'> =>
    new Promise((resolve, reject) => {
      const secret = token();
      const headers = {
        ...(secret === null ? {} : { Authorization: `Bearer ${secret}` }),
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        Accept: 'application/json',
        'User-Agent': userAgent,
      };
      const sent = request(url, { method: 'POST', agent: connections.current(), headers });
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        stop.removeEventListener('abort', onStop);
        act();
      };
      const fail = (reason: string): void => {
        settle(() => reject(new NoAnswer(reason)));
        sent.destroy();
      };
      const onStop = (): void => fail('stopping');
      const timer = setTimeout(() => fail(`no answer within ${timeoutMs / 1000} s`), timeoutMs);
      stop.addEventListener('abort', onStop);
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // The server closed an idle connection while we wrote to it. Both calls may be repeated.
        const stale = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
        if (stale) settle(() => resolve('stale'));
        else fail(describe(error));
      });
      sent.once('response', (response) => {
        readBody(response).then(
          (text) => {
            const { statusCode = 0, headers: received } = response;
            settle(() => resolve({ status: statusCode, retryAfter: received['retry-after'], body: text }));
          },
          (error: NodeJS.ErrnoException) => fail(describe(error)),
        );
      });
      sent.end(body);
      if (stop.aborted) onStop();
    });

  return {
    async post(path, body, stop) {
      const text = JSON.stringify(body);
      for (let again = 0; again < 2; again += 1) {
        const answer = await attempt(`${base}${path}`, text, stop);
        if (answer !== 'stale') return answer;
      }
      throw new NoAnswer('the server closed the connection');
    },
    close: () => connections.close(),
  };
}

/** The agent never has two requests at a time, so one connection is enough; with another certificate it is a new one. */
function connectionsTo({ server, tls }: JsonPosterOptions): { current(): HttpAgent; close(): void } {
  const settings = { keepAlive: true, maxSockets: 1 };
  if (server.protocol !== 'https:') {
    const plain = new HttpAgent(settings);
    return { current: () => plain, close: () => plain.destroy() };
  }
  let options = tls?.();
  let secure = new HttpsAgent({ ...settings, ...options });
  return {
    current: () => {
      const found = tls?.();
      if (found === options) return secure;
      secure.destroy();
      options = found;
      secure = new HttpsAgent({ ...settings, ...found });
      return secure;
    },
    close: () => secure.destroy(),
  };
}

async function readBody(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response) {
    length += part.length;
    if (length > LONGEST_ANSWER) throw new NoAnswer(`an answer of more than ${LONGEST_ANSWER / 1024} KiB`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** If several addresses were tried, the message is empty and only the code is set. */
function describe(error: NodeJS.ErrnoException): string {
  if (error instanceof NoAnswer) return error.message;
  const message = error.message || error.code || 'the connection failed';
  return error.code !== undefined && !message.includes(error.code) ? `${message} (${error.code})` : message;
}
