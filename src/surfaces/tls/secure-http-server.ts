/**
 * The HTTP port with TLS: HTTP/2 and HTTP/1.1, as the client negotiates. `node:http` closes connections of slow HTTP/1.1
 * clients by itself; for HTTP/2 this file does. The limits are read from the server each time, because they grow while this
 * process is busy.
 */
import type { RequestListener, Server } from 'node:http';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { clientCertificateOptions, contextOptions, type TlsSource } from './tls-source.ts';

export interface SecureServerLimits {
  /** For the handshake, and for the headers of the first request. */
  readonly headersMs: number;
  readonly requestMs: number;
  readonly checkMs: number;
  /** For HTTP/1.1: how long a connection stays open without a request. */
  readonly keepAliveMs: number;
}

/** An HTTP/2 connection without a stream is closed after this time; a browser opens it again when it needs it. */
const IDLE_SESSION_MS = 60_000;
/** The streams of one connection; the console watches with a few. */
const MAX_STREAMS = 256;

/** It has the methods of a server of `node:http` that are used here; the type of fastify knows only that one. */
export function createSecureHttpServer(
  tls: TlsSource,
  limits: SecureServerLimits,
  handler: RequestListener,
): Server {
  const { current } = tls;
  const server = createSecureServer({
    ...contextOptions(current),
    ...clientCertificateOptions(current),
    allowHTTP1: true,
    handshakeTimeout: limits.headersMs,
    settings: { maxConcurrentStreams: MAX_STREAMS },
  });
  const http1 = Object.assign(server as Http2SecureServer & Limited, {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkMs,
    keepAliveTimeout: limits.keepAliveMs,
    requireHostHeader: true,
  });
  server.on('request', handler as unknown as () => void);
  const stopReloading = tls.onChange((pair) => server.setSecureContext(contextOptions(pair)));
  server.once('close', stopReloading);
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    limitSession(session, http1);
  });
  const closeHttp1 = server.close.bind(server);
  return Object.assign(server, {
    close: (onClosed?: (error?: Error) => void) => {
      // Their streams may end in order; new ones are refused.
      for (const session of sessions) session.close();
      return closeHttp1(onClosed);
    },
    closeAllConnections: () => {
      for (const socket of sockets) socket.destroy();
    },
  }) as unknown as Server;
}

interface Limited {
  headersTimeout: number;
  requestTimeout: number;
}

function limitSession(session: ServerHttp2Session, limits: Limited): void {
  let streams = 0;
  let idle = setTimeout(() => session.destroy(), limits.headersTimeout).unref();
  session.on('stream', (stream) => {
    streams += 1;
    clearTimeout(idle);
    limitStream(stream, limits);
    stream.once('close', () => {
      streams -= 1;
      if (streams > 0 || session.destroyed) return;
      clearTimeout(idle);
      idle = setTimeout(() => session.close(), IDLE_SESSION_MS).unref();
    });
  });
  session.once('close', () => clearTimeout(idle));
}

/** The client has to send its request within the limit; the answer may take as long as it takes. */
function limitStream(stream: ServerHttp2Stream, { requestTimeout }: Limited): void {
  if (stream.endAfterHeaders) return;
  const late = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), requestTimeout).unref();
  const received = () => clearTimeout(late);
  stream.once('end', received);
  stream.once('close', received);
}
