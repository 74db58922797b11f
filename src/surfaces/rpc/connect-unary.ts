/**
 * Answers the unary calls of Connect that nearly all clients make, without the library: it makes a request, a response, headers and
 * an abort controller of its own for each call, and they cost more than the call. A success is written here, and nothing else: a
 * refusal, a message that can't be decoded, and whatever is unusual about a request go on to the library, with the caller that was
 * found and the body that was read, so that every error is worded and encoded in one place.
 */
import { isUtf8 } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import { type DescMethod, fromBinary, fromJson, type JsonValue } from '@bufbuild/protobuf';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Credentials, credentialsOfRequest } from '../access/credentials.ts';
import {
  checkBinary,
  checkJson,
  isDecodedInTurns,
  maxBytesOf,
  requestTooLarge,
  takesManyIds,
} from '../limits/message-limits.ts';
import { askForBody } from '../limits/unread-body.ts';
import { compressedAs, responseEncoding } from './connect-compression.ts';
import { encodeInSlices, jsonInSlices } from './encode-in-slices.ts';
import { takesNumberTexts } from './number-texts.ts';
import {
  type AdmittedCall,
  admitCall,
  type CallDependencies,
  CallFailed,
  callUnary,
  failedCall,
  type IncomingCall,
  type Service,
} from './service.ts';

/** What is known of a call when the library takes it. */
export type Handover =
  | { readonly failed: CallFailed }
  | { readonly call: AdmittedCall; readonly body: Buffer };

const handovers = new WeakMap<FastifyRequest, Handover>();

/** Undefined: the library does all of it. */
export function handoverOf(request: FastifyRequest): Handover | undefined {
  return handovers.get(request);
}

interface Target {
  readonly service: Service;
  readonly method: DescMethod;
}

const FORMATS: Readonly<Record<string, 'json' | 'binary'>> = {
  'application/json': 'json',
  'application/proto': 'binary',
};

/** In the scope of the library's routes, before they read anything. */
export function answerUnaryCalls(
  scope: FastifyInstance,
  services: readonly Service[],
  dependencies: CallDependencies,
): void {
  const targets = new Map<string, Target>();
  for (const service of services)
    for (const method of service.desc.methods)
      if (method.methodKind === 'unary' && !takesNumberTexts(method) && !takesManyIds(method.name))
        targets.set(`/${service.desc.typeName}/${method.name}`, { service, method });
  scope.addHook('onRequest', (request, reply, done) => {
    const target = targets.get(request.url);
    const format = FORMATS[request.headers['content-type'] ?? ''];
    if (target === undefined || format === undefined || !isUsual(request)) return done();
    const answering = answer({ target, format, request, reply }, dependencies);
    answering.then((answered) => (answered ? undefined : done()), done);
  });
}

/** No deadline, which the library keeps, and no compression of the request. */
function isUsual({ method, headers }: FastifyRequest): boolean {
  return (
    method === 'POST' &&
    headers['connect-timeout-ms'] === undefined &&
    (headers['content-encoding'] ?? 'identity') === 'identity'
  );
}

interface Exchange {
  readonly target: Target;
  readonly format: 'json' | 'binary';
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** False: the library goes on. */
async function answer(exchange: Exchange, dependencies: CallDependencies): Promise<boolean> {
  const { target, format, request, reply } = exchange;
  const { service, method } = target;
  const credentials: Credentials = credentialsOfRequest(request);
  let admitted: AdmittedCall | null = null;
  try {
    const call = await admitCall({ service, method: method.localName, credentials }, dependencies);
    admitted = call;
    askForBody(request.raw);
    const body = await readBody(request, maxBytesOf(method));
    // The client is gone.
    if (body === null) return true;
    const message = isDecodedInTurns(method, body.length) ? null : decoded(method, format, body);
    if (message === null) {
      handovers.set(request, { call, body });
      return false;
    }
    const answered = await callUnary(new ReadCall(call, reply.raw, message), dependencies);
    const encode = format === 'json' ? jsonInSlices : encodeInSlices;
    await send(exchange, await encode(method.output, answered));
    return true;
  } catch (error) {
    if (error instanceof CallFailed) handovers.set(request, { failed: error });
    else if (admitted) handovers.set(request, { failed: failedCall(admitted, dependencies, error) });
    else throw error;
    return false;
  }
}

/** Null: the client left before its end. */
function readBody({ raw, headers }: FastifyRequest, limit: number): Promise<Buffer | null> {
  if (Number(headers['content-length']) > limit) return Promise.reject(requestTooLarge(limit));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    raw.on('data', (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length <= limit) return;
      // What follows is dropped with the answer.
      raw.pause();
      raw.removeAllListeners('data');
      reject(requestTooLarge(limit));
    });
    raw.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    raw.once('error', () => resolve(null));
    raw.once('close', () => resolve(null));
  });
}

/** Null: what takes the call next finds out what is wrong with it. */
function decoded(method: DescMethod, format: 'json' | 'binary', body: Buffer): object | null {
  const { input } = method;
  if (format === 'binary') {
    checkBinary(method, body);
    return orNull(() => fromBinary(input, body));
  }
  if (!isUtf8(body)) return null;
  checkJson(method, body);
  return orNull(() => fromJson(input, JSON.parse(body.toString('utf8')) as JsonValue));
}

function orNull(decode: () => object): object | null {
  try {
    return decode();
  } catch {
    return null;
  }
}

/** A text goes out in one piece with its headers; bytes would be a second one. */
async function send({ target, format, request, reply }: Exchange, encoded: string | Buffer): Promise<void> {
  const length = Buffer.byteLength(encoded);
  const encoding = responseEncoding(request.headers['accept-encoding'], length, target.method.output);
  const body = encoding === null ? encoded : await compressedAs(encoding, encoded);
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': format === 'json' ? 'application/json' : 'application/proto',
    ...(encoding !== null && { 'content-encoding': encoding }),
    'content-length': encoding === null ? length : Buffer.byteLength(body),
  });
  reply.raw.end(body);
}

/** A call with its message; its signal is made when a handler asks for it. */
class ReadCall implements IncomingCall {
  readonly service: Service;
  readonly method: string;
  readonly credentials: Credentials;
  readonly caller: AdmittedCall['caller'];
  readonly requestId: string;
  readonly startedAt: number;
  readonly changes: number;
  readonly request: () => unknown;
  readonly #response: ServerResponse;
  #gone: AbortController | null = null;

  constructor(admitted: AdmittedCall, response: ServerResponse, message: object) {
    this.service = admitted.service;
    this.method = admitted.method;
    this.credentials = admitted.credentials;
    this.caller = admitted.caller;
    this.requestId = admitted.requestId;
    this.startedAt = admitted.startedAt;
    this.changes = admitted.changes;
    this.request = () => message;
    this.#response = response;
  }

  get signal(): AbortSignal {
    if (this.#gone === null) {
      const gone = new AbortController();
      this.#gone = gone;
      const end = () => gone.abort('the client is gone');
      if (this.#response.closed) end();
      else this.#response.once('close', end);
    }
    return this.#gone.signal;
  }
}
