/** HTTP requests of the client. `node:https` and not `fetch`: only it takes the authorities to trust and a certificate. */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { type ClientTls, secureOptions } from './client-tls.ts';

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

export type HttpSender = (url: string, request: HttpRequest) => Promise<HttpAnswer>;

const LIMIT_MS = 60_000;

/** Redirects are not followed: they would send the token to another host. */
export function createHttpSender(tls: ClientTls): HttpSender {
  const plain = new HttpAgent({ keepAlive: true });
  const secure = new HttpsAgent({ keepAlive: true, ...secureOptions(tls) });
  return (url, { method, headers, body }) =>
    new Promise((resolve, reject) => {
      const isSecure = url.startsWith('https:');
      const send = isSecure ? requestHttps : requestHttp;
      const sent = send(url, {
        method,
        agent: isSecure ? secure : plain,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }) },
        signal: AbortSignal.timeout(LIMIT_MS),
      });
      sent.on('error', reject);
      sent.on('response', (response) => {
        readBody(response).then((text) => resolve({ status: response.statusCode ?? 0, body: text }), reject);
      });
      sent.end(body);
    });
}

async function readBody(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
