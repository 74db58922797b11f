/** The simulated MAAS as an HTTP server: its API below /MAAS/api/2.0/, what tests steer it with below /_sim/. */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerAdmin, type SimRequest } from './admin-routes.ts';
import { Agents } from './agents.ts';
import { type FaultInput, Faults } from './faults.ts';
import { type MaasAnswer, MaasRoutes } from './maas-routes.ts';
import { oauthProblem, readBody, readForm } from './request-input.ts';
import { SimSite } from './sim-site.ts';
import { SECONDS } from './statuses.ts';
import { World } from './world.ts';

export interface SimulatorOptions {
  readonly host?: string;
  /** Any free one with 0. */
  readonly port?: number;
  /** Simulated seconds a second. */
  readonly speed?: number;
  /** consumer:token:secret; made up without it. */
  readonly apiKey?: string;
  /** Agents send no more often than that, however fast the clock runs: Ingot's own clock is not run fast. */
  readonly minKeepaliveMs?: number;
}

export interface RunningSimulator {
  readonly url: string;
  readonly apiKey: string;
  stop(): Promise<void>;
}

const API_PREFIX = '/MAAS/api/2.0/';
const ADMIN_PREFIX = '/_sim/';
const MAX_REQUESTS_KEPT = 20_000;
const DEFAULT_MIN_KEEPALIVE_MS = 2_000;

export async function startServer(options: SimulatorOptions = {}): Promise<RunningSimulator> {
  const { host = '127.0.0.1', port = 0, speed = 1, minKeepaliveMs = DEFAULT_MIN_KEEPALIVE_MS } = options;
  const apiKey = options.apiKey ?? newApiKey();
  const faults = new Faults();
  const requests: SimRequest[] = [];
  const agents: Agents = new Agents(() => Math.max(minKeepaliveMs, (SECONDS.keepalive * 1000) / world.speed));
  const world = new World({ speed, site: new SimSite(), faults, agents });
  const routes = new MaasRoutes(world);

  const maas = async (request: IncomingMessage, response: ServerResponse, url: URL) => {
    const body = await readBody(request);
    const form = await readForm(request, body);
    const path = url.pathname.slice(API_PREFIX.length);
    const { method = 'GET' } = request;
    const asked = { method, path, query: url.searchParams, form };
    const op = url.searchParams.get('op') ?? form.get('op') ?? '';
    const kept = { method, path, query: url.search, op, status: 0 };
    requests.push(kept);
    if (requests.length > MAX_REQUESTS_KEPT) requests.shift();
    const fault = faults.takeTransport({ method, path, op, machine: routes.machineOf(asked) });
    if (fault?.fault === 'slow') await sleep(fault.ms ?? 1_000);
    const isSpoiledOnly = fault === null || fault.fault === 'slow' || fault.after_effect === true;
    const answer: MaasAnswer = isSpoiledOnly ? answerOf(request) : { status: 200, body: 'spoiled' };
    if (fault === null) kept.status = answer.status;
    if (fault === null || fault.fault === 'slow') respond(response, answer);
    else await spoil(response, fault, { request, body });

    function answerOf(from: IncomingMessage): MaasAnswer {
      const problem = oauthProblem(from.headers.authorization, apiKey);
      return problem === null ? routes.answer(asked) : { status: 401, body: problem };
    }
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://maas');
    const work = url.pathname.startsWith(API_PREFIX)
      ? maas(request, response, url)
      : admin(request, response, url);
    work.catch((error: unknown) => {
      if (!response.headersSent) respond(response, { status: 400, body: String(error) });
      else response.destroy();
    });
  });

  async function admin(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const body = (await readBody(request)).toString('utf8');
    const isOurs = url.pathname.startsWith(ADMIN_PREFIX);
    const path = url.pathname.slice(ADMIN_PREFIX.length);
    const { method = 'GET' } = request;
    respond(
      response,
      isOurs
        ? answerAdmin({ world, faults, agents, requests }, { method, path, body })
        : { status: 404, body: 'Not Found' },
    );
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: 1024 }, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}/MAAS`,
    apiKey,
    async stop() {
      world.stop();
      await close(server);
    },
  };
}

function respond(response: ServerResponse, { status, body }: MaasAnswer): void {
  const isText = typeof body === 'string';
  const text = isText ? body : JSON.stringify(body);
  const type = isText ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8';
  response.writeHead(status, {
    'Content-Type': type,
    ...(status === 204 ? {} : { 'Content-Length': Buffer.byteLength(text) }),
  });
  response.end(status === 204 ? undefined : text);
}

/** An answer as it should not be. */
async function spoil(
  response: ServerResponse,
  { fault, retry_after: retryAfter }: FaultInput,
  { request, body }: { request: IncomingMessage; body: Buffer },
): Promise<void> {
  const wait = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  const text = (status: number, words: string, headers = {}) =>
    response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...headers }).end(words);
  const half = '[{"system_id": "abc123", "hostname": "cut o';
  switch (fault) {
    case 'error':
      text(500, 'Internal Server Error');
      return;
    case 'bad_gateway':
      text(502, '<html><body><h1>502 Bad Gateway</h1></body></html>', { 'Content-Type': 'text/html' });
      return;
    case 'conflict':
      text(409, 'Conflict error. Try your request again, as it will most likely succeed.', wait);
      return;
    case 'unavailable':
      text(503, 'Unable to connect to any rack controller', wait);
      return;
    case 'drop':
      response.destroy();
      return;
    case 'truncate':
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': half.length * 2 });
      response.write(half);
      await sleep(10);
      response.destroy();
      return;
    case 'truncate_quietly':
      response.writeHead(200, { 'Content-Type': 'application/json', Connection: 'close' });
      response.end(half);
      return;
    case 'redirect':
      response.writeHead(302, { Location: 'http://127.0.0.1:1/elsewhere' }).end();
      return;
    case 'flood':
      await flood(response);
      return;
    case 'echo':
      text(
        400,
        `${request.headers.authorization}\n${body.toString('utf8')}\n${decodeURIComponent(body.toString('utf8'))}`,
      );
      return;
    case 'forbidden':
      text(403, 'Forbidden');
      return;
    case 'not_found':
      text(404, 'Not Found');
      return;
    case 'strange':
      text(200, '{"unheard": "of"}', { 'Content-Type': 'application/json' });
      return;
    default:
      throw new Error(`${fault} spoils no answer`);
  }
}

async function flood(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const megabyte = Buffer.alloc(1024 * 1024, ' ');
  while (!response.destroyed) {
    if (!response.write(megabyte)) await drained(response);
  }
}

/** Or given up. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      response.off('drain', over).off('close', over);
      resolve();
    };
    response.on('drain', over).on('close', over);
  });
}

function newApiKey(): string {
  return Array.from({ length: 3 }, () => randomBytes(9).toString('hex')).join(':');
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
