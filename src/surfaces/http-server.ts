/** The HTTP port: health, readiness, the REST routes and the Connect mount. Everything else answers problem+json. */

import { randomUUID } from 'node:crypto';
import { type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { sleep } from '../time/sleep.ts';
import type { TrustedProxies } from './access/trusted-proxies.ts';
import { API_HEADERS, addApiHeaders } from './api-headers.ts';
import { badBodyText, unreadableHost, unreadableUrl } from './bad-body.ts';
import { readJsonBodies } from './json-body.ts';
import { closeAfterAnswer, crowdOf } from './limits/crowd.ts';
import { DEFAULT_BODY_BYTES } from './limits/message-limits.ts';
import { guardSessions, type SessionLimits } from './limits/session-guard.ts';
import { closeStalledSockets } from './limits/stalled-sockets.ts';
import { askForBody, dropUnreadBodies } from './limits/unread-body.ts';
import type { Readiness } from './readiness.ts';
import { HEALTH_ROUTES } from './rest/api/health-api.ts';
import {
  type Front,
  type FrontDependencies,
  type FrontOptions,
  standInFront,
} from './rest/keepalives/keepalive-front.ts';
import { serveRoutes } from './rest/serve-routes.ts';
import { mountConnect } from './rpc/connect-mount.ts';
import { serveUnaryCalls, type UnaryFront } from './rpc/connect-unary.ts';
import type { CallDependencies, Service } from './rpc/service.ts';
import { createSecureHttpServer } from './tls/secure-http-server.ts';
import type { TlsSource } from './tls/tls-source.ts';

export interface HttpServer {
  readonly port: number;
  drain(): void;
  stop(graceMs: number): Promise<void>;
}

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  /** Null: plaintext. */
  readonly tls: TlsSource | null;
  readonly services: readonly Service[];
  readonly dependencies: CallDependencies;
  /** REST routes, each in its own fastify scope, so that the error handler of one does not apply to the others. */
  readonly routes: ReadonlyArray<(app: FastifyInstance) => Promise<void>>;
  readonly readiness: Readiness;
  /** Takes the connections first, unless they are encrypted. */
  readonly front?: FrontDependencies;
  readonly limits?: SlowLimits;
  readonly sessions?: SessionLimits;
}

/** How long a client may take to send a request; a slower one would only hold a connection. */
export interface SlowLimits {
  readonly headersMs: number;
  readonly requestMs: number;
  /** How often connections are checked. */
  readonly checkMs: number;
}

const SLOW_LIMITS: SlowLimits = { headersMs: 10_000, requestMs: 30_000, checkMs: 2_000 };

/** The same for another time that a connection may be open without a request. */
export function slowLimits(headersMs: number): SlowLimits {
  return { ...SLOW_LIMITS, headersMs, checkMs: Math.min(SLOW_LIMITS.checkMs, headersMs / 4) };
}

/**
 * A client that finds the backlog full gets no answer and retries after 1, 3, 7… seconds. The system may allow less.
 */
const BACKLOG = 65_535;
// Agents call once a minute: keeping their connections would keep a hundred thousand idle ones.
const KEEP_ALIVE_MS = 5_000;
/** For servers that are given no other limit. */
const STALLED_MS = 60_000;
/** A request that takes longer to arrive is read by the parser of HTTP, and has its time limits from then on. */
const FRONT_PATIENCE_MS = 1_000;
const LATENESS_CHECK_MS = 500;
/** Delays of the event loop that are older than this no longer count. */
const LATENESS_MEMORY_MS = 60_000;

export async function startHttpServer(options: HttpOptions): Promise<HttpServer> {
  let draining = false;
  let closing = false;
  const limits = options.limits ?? SLOW_LIMITS;
  const { tls } = options;
  const app = fastify<Server>({
    logger: false,
    genReqId: randomRequestId,
    bodyLimit: DEFAULT_BODY_BYTES,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: { headersTimeout: limits.headersMs, connectionsCheckingInterval: limits.checkMs },
    ...(tls && {
      serverFactory: (handler: RequestListener) =>
        createSecureHttpServer(tls, { ...limits, keepAliveMs: KEEP_ALIVE_MS }, handler),
    }),
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    frameworkErrors: (error, _request, reply) => refuseUnread(reply, error, error.statusCode ?? 400),
    clientErrorHandler: refuseUnparsed,
  });
  const stopClosing = closeStalledSockets(app.server, options.sessions?.stalledMs ?? STALLED_MS);
  const isCrowded = crowdOf(app.server);
  const front = frontOf(options, app, { headersMs: limits.headersMs, isCrowded });
  if (tls && options.sessions) guardSessions(app.server, options.sessions);
  app.addHook('onClose', async () => stopClosing());
  nameCallers(app, options.dependencies.proxies);
  addApiHeaders(app);
  dropUnreadBodies(app);
  app.addHook('onRequest', (request, reply, done) => {
    if (isCrowded()) closeAfterAnswer(reply.raw);
    const problem = unreadableUrl(request.url) ?? unreadableHost(request.headers);
    if (problem) done(problem);
    // Its body is not read for nothing.
    else if (request.is404) answerNotFound(request, reply);
    else done();
  });
  readJsonBodies(app);
  const stopForgiving = forgiveOwnLateness(app.server, limits);
  serveRoutes(
    app,
    HEALTH_ROUTES,
    { ...options.dependencies, limits: null },
    {
      healthz: () => ({ status: 'ok' }),
      readyz: ({ reply }) => {
        const { reason, causes, notes } = options.readiness;
        const degraded = Object.keys(notes).length === 0 ? {} : { degraded: notes };
        if (draining) return reply.code(503).send({ status: 'not ready', reason: 'shutting down' });
        if (reason === null) return { status: 'ready', ...degraded };
        return reply.code(503).send({ status: 'not ready', reason, causes, ...degraded });
      },
    },
  );
  app.setNotFoundHandler(answerNotFound);
  app.setErrorHandler((error: { statusCode?: number; code?: string }, _request, reply) => {
    const status = error.statusCode !== undefined && error.statusCode < 500 ? error.statusCode : 500;
    if (status === 500) options.dependencies.logUnexpected(error, reply.request.id, reply.request.url);
    refuseUnread(reply, error, status);
  });
  for (const routes of options.routes) {
    await app.register(async (scope) => {
      scope.addHook('preParsing', async ({ raw }) => askForBody(raw));
      await routes(scope);
    });
  }
  await app.register(async (scope) => mountConnect(scope, { ...options, notFound: answerNotFound }));
  await app.ready();
  const unary = serveUnaryCalls(app.server, { ...options, isClosing: () => closing, isCrowded });
  await app.listen({ host: options.host, port: options.port, backlog: BACKLOG });
  return {
    port: boundPort(app),
    drain: () => {
      draining = true;
    },
    stop: async (graceMs) => {
      closing = true;
      await close(app, { front, unary }, graceMs);
      stopForgiving();
    },
  };
}

function frontOf(
  { front: dependencies, tls }: HttpOptions,
  app: FastifyInstance<Server>,
  { headersMs, isCrowded }: Pick<FrontOptions, 'isCrowded'> & Pick<SlowLimits, 'headersMs'>,
): Front | null {
  if (dependencies === undefined || tls !== null) return null;
  const patienceMs = Math.min(FRONT_PATIENCE_MS, headersMs / 4);
  const { server } = app;
  const front = standInFront(dependencies, { server, keepAliveMs: KEEP_ALIVE_MS, patienceMs, isCrowded });
  app.addHook('preClose', async () => front.close());
  return front;
}

/**
 * What is under way has `graceMs`. Calls in front of fastify have half of it before fastify refuses what they pass on to it. Connections
 * are ended once no new ones are taken.
 */
async function close(
  app: FastifyInstance<Server>,
  { front, unary }: { readonly front: Front | null; readonly unary: UnaryFront },
  graceMs: number,
): Promise<void> {
  const timer = setTimeout(() => {
    front?.closeAll();
    app.server.closeAllConnections();
  }, graceMs);
  const over = new AbortController();
  void unary.over().then(() => over.abort());
  await sleep(graceMs / 2, over.signal);
  await app.close();
  clearTimeout(timer);
}

/** Everything that asks for the address of a request gets that of its caller, also behind a trusted proxy. */
function nameCallers(app: FastifyInstance<Server>, proxies: TrustedProxies): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const header = request.headers['x-forwarded-for'];
    if (header !== undefined) {
      const value = proxies.callerOf(request.ip ?? '', Array.isArray(header) ? header.join(',') : header);
      Object.defineProperty(request, 'ip', { value });
    }
    done();
  });
}

/** Events name the request, so its id is one of its own, whichever process served it. */
function randomRequestId(): string {
  return randomUUID();
}

function answerNotFound(request: FastifyRequest, reply: FastifyReply): void {
  void reply
    .code(404)
    .type('application/problem+json')
    .send({
      type: 'about:blank',
      title: 'Not Found',
      status: 404,
      detail: `nothing is served at ${request.url}`,
    });
}

/** What the parser of HTTP refuses: no request, and so no reply, exists for it. */
function refuseUnparsed(error: NodeJS.ErrnoException, socket: Socket): void {
  // Before the handshake is over, nothing that is written ever arrives.
  const isHandshake = /^ERR_(?:SSL|TLS)_/.test(error.code ?? '');
  if (isHandshake || error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = UNPARSED[error.code ?? ''] ?? 400;
  const body = JSON.stringify({ type: 'about:blank', status, title: STATUS_CODES[status] });
  const headers = { ...API_HEADERS, 'content-type': 'application/problem+json', connection: 'close' };
  const lines = Object.entries({ ...headers, 'content-length': body.length }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.write([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
  socket.destroySoon();
}

const UNPARSED: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/** For requests whose URL or body cannot be read, before any route. */
function refuseUnread(reply: FastifyReply, error: { readonly code?: string }, status: number): void {
  const detail =
    status === 500 ? 'internal error' : badBodyText({ code: error.code ?? '', statusCode: status });
  void reply
    .code(status)
    .headers(API_HEADERS)
    .type('application/problem+json')
    .send({ type: 'about:blank', status, title: detail, detail });
}

/**
 * The time limit of a client runs while this process is too busy to read what the client has already sent: when a
 * fleet comes back at once, those who waited longest would be disconnected as slow. So the limits grow by the delay
 * of the event loop. They are read when connections are checked, which may come before the timer here: both are late.
 */
function forgiveOwnLateness(server: FastifyInstance['server'], limits: SlowLimits): () => void {
  const late: Array<{ readonly at: number; readonly ms: number }> = [];
  const periodMs = Math.min(LATENESS_CHECK_MS, limits.checkMs / 2);
  let expectedAt = performance.now() + periodMs;
  const timer = setInterval(() => {
    const now = performance.now();
    late.push({ at: now, ms: Math.max(0, now - expectedAt) });
    while ((late[0]?.at ?? now) < now - LATENESS_MEMORY_MS) late.shift();
    expectedAt = now + periodMs;
  }, periodMs).unref();
  const forgivenMs = () =>
    late.reduce((sum, { ms }) => sum + ms, Math.max(0, performance.now() - expectedAt));
  Object.defineProperties(server, {
    headersTimeout: { get: () => limits.headersMs + forgivenMs() },
    requestTimeout: { get: () => limits.requestMs + forgivenMs() },
  });
  return () => clearInterval(timer);
}

function boundPort(app: FastifyInstance): number {
  const address = app.server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
