/**
 * Sends what no honest client sends to every method and route, on each surface, and checks that the answer is the
 * client's fault: 4xx, or a gRPC status of that kind; never INTERNAL, a 500 or silence. The cases come from the protos and
 * the tables of routes, so that what is added is covered; a seed repeats them.
 */
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DescMethod } from '@bufbuild/protobuf';
import { SERVICES } from '../../src/surfaces/access/known-methods.ts';
import { REST_API } from '../../src/surfaces/rest/api/rest-api.ts';
import type { RestRoute } from '../../src/surfaces/rest/api/route.ts';
import { AnswerWatch } from './answer-watch.ts';
import {
  compressed,
  enveloped,
  hostileJson,
  jsonBytes,
  messageBytes,
  messageJson,
  TEXTS,
} from './hostile-values.ts';
import { SeededRandom } from './random.ts';

export interface FuzzTarget {
  readonly httpUrl: string;
  readonly grpcAddress: string;
  /** Tokens that are tried: most cases have one of them. */
  readonly tokens: readonly string[];
}

export interface FuzzOptions {
  readonly seed: number;
  readonly cases: number;
  readonly concurrency?: number;
}

/** One surface, with how its cases were answered. */
export interface FuzzRow {
  readonly surface: Surface;
  readonly cases: number;
  readonly targets: number;
  /** By status. */
  readonly answers: Readonly<Record<string, number>>;
}

export interface FuzzResult {
  readonly rows: readonly FuzzRow[];
  /** Cases that were answered with an error of the server, or not at all. */
  readonly failures: readonly string[];
  readonly perSecond: number;
  /** How late the answers were, and the event loop of this process. */
  readonly lateness: string;
}

type Surface = 'gRPC' | 'Connect and gRPC-Web' | 'REST';

interface FuzzCase {
  readonly surface: Surface;
  readonly target: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** It may stay open without a message: nothing happens that it could send. */
  readonly isStream: boolean;
}

interface Answered {
  readonly status: string;
  readonly problem: string | null;
}

const METHODS = SERVICES.flatMap((service) => service.methods);
const ROUTES: readonly RestRoute[] = Object.values(REST_API).flatMap(({ routes }) =>
  Object.values<RestRoute>(routes),
);
/** A stream that has started is left after this time. */
const STREAM_MS = 30;
const SILENT_STREAM_MS = 1_500;
const CALLS_PER_CONNECTION = 300;

export async function fuzz(
  target: FuzzTarget,
  { seed, cases, concurrency = 32 }: FuzzOptions,
): Promise<FuzzResult> {
  const random = new SeededRandom(seed);
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const sessions = new Sessions(target.grpcAddress);
  const watch = new AnswerWatch(() => honestCall(target));
  const failures: string[] = [];
  const tally = new Map<Surface, { cases: number; targets: Set<string>; answers: Record<string, number> }>();
  let left = cases;
  const startedAt = performance.now();
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const number = cases - left;
      const one = nextCase(random, target);
      const { status, problem } =
        one.surface === 'gRPC'
          ? await sendGrpc(sessions.next(), one, watch)
          : await sendHttp(target, agent, one, watch);
      const row = tally.get(one.surface) ?? { cases: 0, targets: new Set(), answers: {} };
      tally.set(one.surface, row);
      row.cases += 1;
      row.targets.add(one.target);
      row.answers[status] = (row.answers[status] ?? 0) + 1;
      if (problem !== null) failures.push(described(number, one, status, problem));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const seconds = (performance.now() - startedAt) / 1000;
  sessions.close();
  agent.destroy();
  watch.stop();
  return {
    lateness: watch.figures,
    rows: [...tally].map(([surface, row]) => ({ surface, ...row, targets: row.targets.size })),
    failures,
    perSecond: Math.round(cases / seconds),
  };
}

/** It reads the database, as most cases do. */
async function honestCall({ httpUrl, tokens }: FuzzTarget): Promise<void> {
  const headers = { authorization: `Bearer ${tokens[0]}` };
  await (await fetch(`${httpUrl}/api/v1/nodes?limit=1`, { headers })).arrayBuffer();
}

/** Another connection now and then: one that leaves many streams is closed by the server. */
class Sessions {
  readonly #url: string;
  #used = 0;
  readonly #opened: ClientHttp2Session[] = [];

  constructor(address: string) {
    this.#url = `http://${address}`;
  }

  next(): ClientHttp2Session {
    this.#used += 1;
    const current = this.#opened.at(-1);
    if (current && !current.destroyed && this.#used % CALLS_PER_CONNECTION !== 0) return current;
    // The one before stays open for the calls that it has.
    const session = connect(this.#url);
    session.on('error', () => {});
    this.#opened.push(session);
    return session;
  }

  close(): void {
    for (const session of this.#opened) session.destroy();
  }
}

function described(number: number, one: FuzzCase, status: string, problem: string): string {
  const { authorization, ...headers } = one.headers;
  const body = one.body.subarray(0, 120).toString('base64');
  return `case ${number}: ${one.surface} ${one.method} ${one.path.slice(0, 200)} ${JSON.stringify(headers)} ${authorization ? 'with' : 'without'} credentials, ${one.body.length} bytes (${body}): ${status} ${problem}`;
}

function nextCase(random: SeededRandom, target: FuzzTarget): FuzzCase {
  const kind = random.below(3);
  if (kind === 0) return restCase(random, target);
  const method = random.one(METHODS);
  return kind === 1 ? grpcCase(random, target, method) : connectCase(random, target, method);
}

function authorizationFor(random: SeededRandom, { tokens }: FuzzTarget): Record<string, string> {
  if (random.chance(0.9)) return { authorization: `Bearer ${random.one(tokens)}` };
  // One wrong token: many different ones are guesses, which have a limit.
  return random.one<Record<string, string>>([
    {},
    { authorization: 'Bearer wrong' },
    { authorization: 'Basic eDp4' },
    { authorization: `Bearer ${'x'.repeat(600)}` },
    { cookie: 'ingot_session=x' },
  ]);
}

const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`;

function grpcCase(random: SeededRandom, target: FuzzTarget, method: DescMethod): FuzzCase {
  const encoding = random.one(['', '', '', 'identity', 'gzip', 'deflate', 'br', 'x']);
  const message = messageBytes(random, method.input);
  const body = encoding === '' ? message : compressed(random, message);
  return {
    surface: 'gRPC',
    isStream: method.methodKind !== 'unary',
    target: pathOf(method),
    method: 'POST',
    path: random.chance(0.98)
      ? pathOf(method)
      : `${pathOf(method)}${random.one(['x', '/', '%00', '\u00ff'])}`,
    headers: {
      'content-type': random.chance(0.95)
        ? 'application/grpc'
        : random.one(['application/grpc+json', 'text/plain']),
      te: 'trailers',
      ...(encoding && { 'grpc-encoding': encoding }),
      'grpc-timeout': random.chance(0.9)
        ? method.methodKind === 'unary'
          ? '10S'
          : '1S'
        : random.one(['x', '-1S', '0n', '99999999H', '1']),
      ...authorizationFor(random, target),
    },
    body: random.chance(0.95) ? enveloped(random, body) : body,
  };
}

function connectCase(random: SeededRandom, target: FuzzTarget, method: DescMethod): FuzzCase {
  const isStream = method.methodKind !== 'unary';
  const own = isStream
    ? ['application/connect+json', 'application/connect+proto']
    : ['application/json', 'application/proto'];
  const type = random.chance(0.8)
    ? random.one(own)
    : random.one([
        'application/grpc-web+proto',
        'application/grpc-web+json',
        'application/grpc-web-text',
        'application/connect+json',
        'text/html',
        '',
      ]);
  const message = type.includes('json')
    ? jsonBytes(random, random.chance(0.9) ? messageJson(random, method.input) : hostileJson(random))
    : messageBytes(random, method.input);
  const encoding = random.one(['', '', '', '', 'gzip', 'br', 'identity', 'zip']);
  const body = encoding === 'gzip' ? compressed(random, message) : message;
  const isEnveloped = type.includes('connect+') || type.includes('grpc-web');
  const encodingHeader = type.includes('connect+')
    ? 'connect-content-encoding'
    : type.includes('grpc-web')
      ? 'grpc-encoding'
      : 'content-encoding';
  return {
    surface: 'Connect and gRPC-Web',
    isStream,
    target: pathOf(method),
    method: random.chance(0.97) ? 'POST' : random.one(['GET', 'PUT', 'DELETE', 'OPTIONS']),
    path: pathOf(method) + (random.chance(0.95) ? '' : `?${escapedText(random)}=${escapedText(random)}`),
    headers: {
      ...(type && { 'content-type': type }),
      ...(encoding && { [encodingHeader]: encoding }),
      'connect-timeout-ms': random.chance(0.9) ? '10000' : random.one(['x', '-1', '0', '9'.repeat(30)]),
      ...(random.chance(0.05) && { host: random.one(['[', 'a b', 'x:99999999', '/', '']) }),
      ...authorizationFor(random, target),
    },
    body: isEnveloped && random.chance(0.95) ? enveloped(random, body) : body,
  };
}

function restCase(random: SeededRandom, target: FuzzTarget): FuzzCase {
  const route = random.one(ROUTES);
  const filled = route.path.replace(/:\w+|\*/g, () => escapedText(random));
  const names = [...Object.keys(route.query ?? {}), 'x'];
  const query = Array.from(
    { length: random.below(4) },
    () => `${random.one(names)}=${escapedText(random)}`,
  ).join('&');
  const hasBody = route.method !== 'GET';
  return {
    surface: 'REST',
    isStream: false,
    target: `${route.method} ${route.path}`,
    method: route.method,
    path: query ? `${filled}?${query}` : filled,
    headers: {
      ...(hasBody && {
        'content-type':
          random.one([
            'application/json',
            'application/json',
            'application/json',
            'application/octet-stream',
            'text/plain',
            '',
          ]) || 'x',
      }),
      ...(random.chance(0.1) && { range: random.one(['bytes=0-', 'bytes=9-1', 'x', 'bytes=0-0,1-1']) }),
      ...(random.chance(0.1) && { 'content-range': random.one(['bytes 0-1/2', 'x', 'bytes 9-1/2']) }),
      ...(random.chance(0.05) && { 'content-encoding': 'gzip' }),
      ...authorizationFor(random, target),
    },
    body: hasBody
      ? jsonBytes(random, random.chance(0.7) ? bodyJson(random, route) : hostileJson(random))
      : Buffer.alloc(0),
  };
}

/** The fields of the body as its schema names them, with any values. */
function bodyJson(random: SeededRandom, { body }: RestRoute): unknown {
  const shape =
    (body?.schema as { readonly shape?: Readonly<Record<string, unknown>> } | undefined)?.shape ?? {};
  const names = Object.keys(shape).filter(() => random.chance(0.7));
  return Object.fromEntries(names.map((name) => [name, hostileJson(random, 2)]));
}

/** In a URL: escaped as UTF-8, or as invalid UTF-8. */
function escapedText(random: SeededRandom): string {
  if (random.chance(0.1))
    return random.one(['%00', '%ff', '%ED%A0%80', '%', '%zz', '..%2f..', '%2e%2e', '\u00ff']);
  return encodeURIComponent(random.one(TEXTS).replace(/\p{Cs}/gu, 'x'));
}

const GRPC_SERVER_FAULTS: ReadonlySet<string> = new Set(['2', '13', '15']);
/** The answers of 500 that agents in the field rely on; docs/agents.md has them. */
const AGENT_CODES = /"error_code":"(?:invalid_pool|machine_not_found|registration_failed|keepalive_failed)"/;

function judged(headers: IncomingHttpHeaders, status: number, text: string): Answered {
  const grpcStatus = headers['grpc-status']?.toString() ?? /grpc-status: ?(\d+)/i.exec(text)?.[1];
  const shown = grpcStatus === undefined ? String(status) : `grpc ${grpcStatus}`;
  if (grpcStatus !== undefined && GRPC_SERVER_FAULTS.has(grpcStatus))
    return { status: shown, problem: text.slice(0, 300) };
  if (/"code":"(?:internal|unknown|data_loss)"/.test(text))
    return { status: shown, problem: text.slice(0, 300) };
  if (status >= 500 && !(status === 500 && AGENT_CODES.test(text)))
    return { status: shown, problem: text.slice(0, 300) };
  if (headers['x-content-type-options'] !== 'nosniff') return { status: shown, problem: 'without nosniff' };
  if (headers['cache-control'] !== 'no-store')
    return { status: shown, problem: `cache-control: ${headers['cache-control']}` };
  return { status: shown, problem: null };
}

function sendHttp(
  { httpUrl }: FuzzTarget,
  agent: Agent,
  one: FuzzCase,
  watch: AnswerWatch,
): Promise<Answered> {
  const { hostname, port } = new URL(httpUrl);
  const { method, path, body } = one;
  const headers = { ...one.headers, 'content-length': body.length };
  return new Promise((resolve) => {
    const call = request({ hostname, port, agent, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      const answer = () =>
        resolve(judged(response.headers, response.statusCode ?? 0, Buffer.concat(chunks).toString('latin1')));
      const isStream = /connect\+|grpc-web/.test(response.headers['content-type'] ?? '');
      if (isStream) setTimeout(() => call.destroy(), STREAM_MS).unref();
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', answer);
      response.on('close', answer);
    });
    const closed = new Promise((end) => call.on('close', end));
    call.on('error', (error) => resolve({ status: 'none', problem: `no answer: ${error.message}` }));
    call.end(body);
    giveUp(one, closed, watch).then((silence) => {
      if (silence === null) return;
      resolve(silence);
      call.destroy();
    });
  });
}

/** Null: it was answered. A stream without a change sends nothing, and is no unanswered call. */
async function giveUp(
  one: FuzzCase,
  answered: Promise<unknown>,
  watch: AnswerWatch,
): Promise<Answered | null> {
  if (!one.isStream) {
    const problem = await watch.over(`${one.surface} ${one.target}`, answered);
    return problem === null ? null : { status: 'none', problem };
  }
  const left = sleep(SILENT_STREAM_MS, 'left' as const, { ref: false });
  return (await Promise.race([answered.then(() => null), left])) && { status: 'open', problem: null };
}

function sendGrpc(session: ClientHttp2Session, one: FuzzCase, watch: AnswerWatch): Promise<Answered> {
  return new Promise((resolve) => {
    const stream = session.request({ ':method': one.method, ':path': one.path, ...one.headers });
    let answer: Answered = { status: 'none', problem: 'no answer' };
    const take = (headers: IncomingHttpHeaders) => {
      const code = headers['grpc-status']?.toString();
      if (headers[':status'] !== undefined) answer = { status: `HTTP ${headers[':status']}`, problem: null };
      if (code === undefined) return;
      const message = String(headers['grpc-message'] ?? '');
      answer = { status: `grpc ${code}`, problem: GRPC_SERVER_FAULTS.has(code) ? message : null };
    };
    stream.on('response', (headers) => {
      take(headers);
      setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), STREAM_MS).unref();
    });
    stream.on('trailers', take);
    stream.on('data', () => {});
    stream.on('error', (error) => {
      if (answer.status === 'none') answer = { status: 'none', problem: `no answer: ${error.message}` };
    });
    const closed = new Promise((end) => stream.on('close', end));
    closed.then(() => resolve(answer));
    stream.end(one.body);
    giveUp(one, closed, watch).then((silence) => {
      if (silence === null) return;
      if (answer.status === 'none') answer = silence;
      stream.close(constants.NGHTTP2_CANCEL);
    });
  });
}
