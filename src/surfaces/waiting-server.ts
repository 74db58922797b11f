/**
 * What the HTTP port answers while the replica cannot work: it is alive, not ready, and says why. Every other request
 * gets 503 with Retry-After. The gRPC port stays closed, which clients see as UNAVAILABLE.
 */
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { API_HEADERS } from './api-headers.ts';
import type { Readiness } from './readiness.ts';
import { createSecureHttpServer } from './tls/secure-http-server.ts';
import type { TlsSource } from './tls/tls-source.ts';

export interface WaitingServer {
  readonly port: number;
  stop(): Promise<void>;
}

export interface WaitingOptions {
  readonly host: string;
  readonly port: number;
  /** Null: plaintext. */
  readonly tls: TlsSource | null;
  readonly readiness: Readiness;
}

/** For the little that it reads. */
const LIMITS = { headersMs: 10_000, requestMs: 30_000, checkMs: 2_000, keepAliveMs: 5_000 } as const;
const RETRY_AFTER_SECONDS = '5';

export async function startWaitingServer(options: WaitingOptions): Promise<WaitingServer> {
  const { host, port, tls } = options;
  const answerAll = answering(options.readiness);
  const server = tls === null ? createServer(answerAll) : createSecureHttpServer(tls, LIMITS, answerAll);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answering(readiness: Readiness): RequestListener {
  return (request, response) => {
    const reason = readiness.reason ?? 'starting';
    // Each answer closes its connection, so that the next request reaches the real server. HTTP/2 has no such header: those
    // connections are closed with the server.
    if (request.httpVersionMajor < 2) response.setHeader('connection', 'close');
    request.resume();
    switch (request.url?.split('?')[0]) {
      case '/healthz':
        return answer(response, 200, 'application/json', { status: 'ok' });
      case '/readyz':
        return answer(response, 503, 'application/json', { status: 'not ready', reason });
      default:
        response.setHeader('retry-after', RETRY_AFTER_SECONDS);
        return answer(response, 503, 'application/problem+json', {
          type: 'about:blank',
          title: 'Service Unavailable',
          status: 503,
          detail: reason,
        });
    }
  };
}

function answer(response: ServerResponse, status: number, type: string, body: object): void {
  response.writeHead(status, { ...API_HEADERS, 'content-type': type });
  response.end(JSON.stringify(body));
}
