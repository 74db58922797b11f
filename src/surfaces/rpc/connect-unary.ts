/**
 * Answers the unary calls of Connect that nearly all clients make, in front of fastify and without the library: routes, hooks, a
 * request, a response, headers and an abort controller of their own for each call cost more than the call. A success is written
 * here, and nothing else: a refusal, a message that can't be decoded, and whatever is unusual about a request go on to fastify and the
 * library, with the caller that was found and the body that was read, so that every error is worded and encoded in one place.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import { type DescMethod, fromBinary, fromJsonString } from '@bufbuild/protobuf';
import type { FastifyRequest } from 'fastify';
import { type Credentials, credentialsOfMessage } from '../access/credentials.ts';
import { API_HEADERS } from '../api-headers.ts';
import { unreadableHost } from '../bad-body.ts';
import { closeAfterAnswer } from '../limits/crowd.ts';
import {
  checkBinary,
  checkJson,
  isDecodedInTurns,
  maxBytesOf,
  requestTooLarge,
  takesManyIds,
} from '../limits/message-limits.ts';
import { flatMessage } from './codec/flat-json.ts';
import { compressedAs, responseEncoding } from './connect-compression.ts';
import { encodeInSlices, jsonInSlices } from './encode-in-slices.ts';
import { takesNumberTexts } from './number-texts.ts';
import {
  type AdmittedCall,
  admitCallNow,
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

const handovers = new WeakMap<IncomingMessage, Handover>();

/** Undefined: the library does all of it. */
export function handoverOf({ raw }: FastifyRequest): Handover | undefined {
  return handovers.get(raw);
}

interface Target {
  readonly service: Service;
  readonly method: DescMethod;
}

type Format = 'json' | 'binary';

const FORMATS: Readonly<Record<string, Format>> = {
  'application/json': 'json',
  'application/proto': 'binary',
};

export interface UnaryOptions {
  readonly services: readonly Service[];
  readonly dependencies: CallDependencies;
  /** Fastify answers everything then, and refuses it. */
  readonly isClosing: () => boolean;
  /** Each answer ends its connection then. */
  readonly isCrowded: () => boolean;
}

export interface UnaryFront {
  /** Until no call that was taken is under way: fastify refuses what is passed on to it once it closes. */
  over(): Promise<void>;
}

/** Takes over what it can of the requests of a port. */
export function serveUnaryCalls(server: Server, options: UnaryOptions): UnaryFront {
  const calls = new UnaryCalls(options);
  const others = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const pass = () => {
      for (const other of others) other.call(server, request, response);
    };
    if (!calls.take(request, response, pass)) pass();
  });
  return calls;
}

interface Exchange {
  readonly target: Target;
  readonly format: Format;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

class UnaryCalls implements UnaryFront {
  readonly #options: UnaryOptions;
  readonly #targets = new Map<string | undefined, Target>();
  #underWay = 0;
  #ended: () => void = () => {};
  /** The last that was found to be one: requests of a client name the same. */
  #readableHost: string | undefined = undefined;

  constructor(options: UnaryOptions) {
    this.#options = options;
    for (const service of options.services)
      for (const method of service.desc.methods)
        if (method.methodKind === 'unary' && !takesNumberTexts(method) && !takesManyIds(method.name))
          this.#targets.set(`/${service.desc.typeName}/${method.name}`, { service, method });
  }

  /** False: fastify answers it. What turns out later to be for fastify is passed on. */
  take(request: IncomingMessage, response: ServerResponse, pass: () => void): boolean {
    const target = this.#targets.get(request.url);
    const format = FORMATS[request.headers['content-type'] ?? ''];
    if (target === undefined || format === undefined || !this.#isUsual(request)) return false;
    this.#underWay += 1;
    const end = (answered: boolean) => {
      if (!answered) pass();
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#ended();
    };
    // What fails without a refusal is tried again by the library, which reports it.
    this.#answer({ target, format, request, response }).then(end, () => end(false));
    return true;
  }

  over(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#ended = resolve;
    });
  }

  /** No deadline, which the library keeps, no compression of the request, and nothing that fastify would refuse or ask for. */
  #isUsual({ method, headers }: IncomingMessage): boolean {
    return (
      method === 'POST' &&
      headers['connect-timeout-ms'] === undefined &&
      (headers['content-encoding'] ?? 'identity') === 'identity' &&
      headers.expect === undefined &&
      !this.#options.isClosing() &&
      this.#isReadable(headers.host)
    );
  }

  #isReadable(host: string | undefined): boolean {
    if (host === this.#readableHost) return true;
    if (unreadableHost({ host }) !== null) return false;
    this.#readableHost = host;
    return true;
  }

  /** False: the library goes on. */
  async #answer(exchange: Exchange): Promise<boolean> {
    const { target, format, request, response } = exchange;
    const { service, method } = target;
    const { dependencies } = this.#options;
    let admitted: AdmittedCall | null = null;
    try {
      const admission = admitCallNow(
        { service, method: method.localName, credentials: this.#credentialsOf(request) },
        dependencies,
      );
      const call = admission instanceof Promise ? await admission : admission;
      admitted = call;
      const body = await readBody(request, maxBytesOf(method));
      // The client is gone.
      if (body === null) return true;
      const message = isDecodedInTurns(method, body.length) ? null : decoded(method, format, body);
      if (message === null) {
        handovers.set(request, { call, body });
        return false;
      }
      const answered = await callUnary(new ReadCall(call, response, message), dependencies);
      const encode = format === 'json' ? jsonInSlices : encodeInSlices;
      const encoded = encode(method.output, answered);
      await this.#send(exchange, encoded instanceof Promise ? await encoded : encoded);
      return true;
    } catch (error) {
      if (error instanceof CallFailed) handovers.set(request, { failed: error });
      else if (admitted) handovers.set(request, { failed: failedCall(admitted, dependencies, error) });
      else throw error;
      return false;
    }
  }

  #credentialsOf(request: IncomingMessage): Credentials {
    const peer = request.socket.remoteAddress ?? '';
    const forwarded = request.headers['x-forwarded-for'];
    const forwardedFor = Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
    return credentialsOfMessage(request, this.#options.dependencies.proxies.callerOf(peer, forwardedFor));
  }

  /** A text goes out in one piece with its headers; bytes would be a second one. */
  #send({ target, format, request, response }: Exchange, encoded: string | Buffer): Promise<void> | null {
    const length = Buffer.byteLength(encoded);
    const encoding = responseEncoding(request.headers['accept-encoding'], length, target.method.output);
    if (encoding === null) {
      this.#write(response, encoded, [...HEADERS_OF[format], 'content-length', String(length)]);
      return null;
    }
    return compressedAs(encoding, encoded).then((body) => {
      const headers = ['content-encoding', encoding, 'content-length', String(body.length)];
      this.#write(response, body, [...HEADERS_OF[format], ...headers]);
    });
  }

  #write(response: ServerResponse, body: string | Buffer, headers: string[]): void {
    const { isCrowded, isClosing } = this.#options;
    // An idle connection would keep the port from closing.
    if (isCrowded() || isClosing()) closeAfterAnswer(response);
    response.writeHead(200, headers);
    response.end(body);
  }
}

const API_HEADER_LIST = Object.entries(API_HEADERS).flat();
const HEADERS_OF: Readonly<Record<Format, readonly string[]>> = {
  json: [...API_HEADER_LIST, 'content-type', 'application/json'],
  binary: [...API_HEADER_LIST, 'content-type', 'application/proto'],
};

/** Null: the client left before its end. */
function readBody(request: IncomingMessage, limit: number): Promise<Buffer | null> {
  if (Number(request.headers['content-length']) > limit) return Promise.reject(requestTooLarge(limit));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length <= limit) return;
      // What follows is dropped with the answer.
      request.pause();
      request.removeAllListeners('data');
      reject(requestTooLarge(limit));
    });
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    const gone = () => resolve(null);
    request.on('error', gone);
    request.on('close', gone);
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
  return orNull(() => {
    const text = body.toString('utf8');
    return flatMessage(input, text) ?? fromJsonString(input, text);
  });
}

function orNull(decode: () => object): object | null {
  try {
    return decode();
  } catch {
    return null;
  }
}

/** A response of HTTP/2 does not say that it is closed; its stream does. */
function isGone(response: ServerResponse): boolean {
  const { stream } = response as unknown as Partial<Http2ServerResponse>;
  return stream === undefined ? response.closed : stream.destroyed;
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
      if (isGone(this.#response)) end();
      else this.#response.once('close', end);
    }
    return this.#gone.signal;
  }
}
