/**
 * Our own calls on the gRPC port, without grpc-js: its layers cost as much as reading a machine, and it sends the messages of a
 * stream one at a time. This takes the calls that nearly all clients make; what is unusual (a compressed message, a header that
 * is malformed, health, reflection) is left to grpc-js, which has the port and its connections.
 *
 * The caller is found before the message is read.
 */
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { DescMessage, DescMethod, MessageInitShape } from '@bufbuild/protobuf';
import { credentialsOfStream } from '../access/credentials.ts';
import { decodeMessage, isDecodedInTurns } from '../limits/message-limits.ts';
import { encodeBinary } from './codec/binary-encoder.ts';
import { binaryInSlices } from './decode-in-slices.ts';
import { encodeInSlices } from './encode-in-slices.ts';
import { GrpcExchange, HEAD_BYTES, withFrameHead } from './grpc-exchange.ts';
import { statusFor } from './grpc-status.ts';
import {
  type AdmittedCall,
  admitCallNow,
  type CallDependencies,
  CallFailed,
  callStream,
  callUnary,
  failedCall,
  type IncomingCall,
  type Service,
} from './service.ts';

interface Target {
  readonly service: Service;
  readonly method: DescMethod;
  readonly path: string;
}

export interface GrpcCallOptions {
  readonly services: readonly Service[];
  readonly dependencies: CallDependencies;
  /** A stream whose client reads nothing for this long is ended; the client can resume from its cursor. */
  readonly slowReaderMs: number;
}

/** Takes over what it can of the streams of a port. */
export function serveCalls(server: Http2Server, options: GrpcCallOptions): void {
  const calls = new GrpcCalls(options);
  const others = server.listeners('stream') as Array<(...stream: unknown[]) => void>;
  server.removeAllListeners('stream');
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...rest: unknown[]) => {
    if (calls.take(stream, headers)) return;
    for (const other of others) other.call(server, stream, headers, ...rest);
  });
}

class GrpcCalls {
  readonly #options: GrpcCallOptions;
  readonly #targets = new Map<string | undefined, Target>();

  constructor(options: GrpcCallOptions) {
    this.#options = options;
    for (const service of options.services)
      for (const method of service.desc.methods) {
        const path = `/${service.desc.typeName}/${method.name}`;
        this.#targets.set(path, { service, method, path });
      }
  }

  /** False: grpc-js answers it. */
  take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
    const target = this.#targets.get(headers[':path']);
    const deadlineMs = deadlineOf(headers['grpc-timeout']);
    if (target === undefined || deadlineMs === 'malformed' || !isUsual(headers)) return false;
    const exchange = new GrpcExchange(stream, target.path, deadlineMs);
    const { dependencies } = this.#options;
    const credentials = credentialsOfStream(stream, headers, dependencies.proxies);
    try {
      const call = { service: target.service, method: target.method.localName, credentials };
      const admitted = admitCallNow(call, dependencies);
      if (admitted instanceof Promise)
        admitted.then(
          (found) => this.#read(target, exchange, found),
          (error: unknown) => fail(exchange, error),
        );
      else this.#read(target, exchange, admitted);
    } catch (error) {
      fail(exchange, error);
    }
    return true;
  }

  #read(target: Target, exchange: GrpcExchange, admitted: AdmittedCall): void {
    if (!exchange.isOver) exchange.read((bytes) => this.#run(target, exchange, admitted, bytes));
  }

  #run({ method }: Target, exchange: GrpcExchange, admitted: AdmittedCall, bytes: Buffer): void {
    const { dependencies } = this.#options;
    const call = new ReadCall(admitted, exchange, { method, bytes });
    const done =
      method.methodKind === 'unary'
        ? this.#unary(method, exchange, call)
        : this.#stream(method, exchange, call);
    done.catch((error: unknown) =>
      fail(exchange, error instanceof CallFailed ? error : failedCall(call, dependencies, error)),
    );
  }

  async #unary({ output }: DescMethod, exchange: GrpcExchange, call: IncomingCall): Promise<void> {
    const answer = await callUnary(call, this.#options.dependencies);
    const framed = encodeInSlices(output, answer, HEAD_BYTES);
    exchange.answer(withFrameHead(framed instanceof Promise ? await framed : framed));
  }

  async #stream({ output }: DescMethod, exchange: GrpcExchange, call: IncomingCall): Promise<void> {
    const { dependencies, slowReaderMs } = this.#options;
    await callStream(call, dependencies, {
      send: (message) => exchange.write(frameOf(output, message), slowReaderMs),
      sendShared: (batch) =>
        exchange.write(
          batch.framed((message) => frameOf(output, message)),
          slowReaderMs,
        ),
    });
    exchange.close();
  }
}

function frameOf(output: DescMessage, message: MessageInitShape<DescMessage>): Buffer {
  return withFrameHead(encodeBinary(output, message, HEAD_BYTES));
}

function fail(exchange: GrpcExchange, error: unknown): void {
  if (!(error instanceof CallFailed)) throw error;
  exchange.fail(statusFor(error));
}

interface ReadMessage {
  readonly method: DescMethod;
  readonly bytes: Buffer;
}

/** A call with its message, which it forgets once it is decoded; its signal is made when a handler asks for it. */
class ReadCall implements IncomingCall {
  readonly service: Service;
  readonly method: string;
  readonly credentials: AdmittedCall['credentials'];
  readonly caller: AdmittedCall['caller'];
  readonly requestId: string;
  readonly startedAt: number;
  readonly changes: number;
  readonly #exchange: GrpcExchange;
  #message: ReadMessage | null;

  constructor(admitted: AdmittedCall, exchange: GrpcExchange, message: ReadMessage) {
    this.service = admitted.service;
    this.method = admitted.method;
    this.credentials = admitted.credentials;
    this.caller = admitted.caller;
    this.requestId = admitted.requestId;
    this.startedAt = admitted.startedAt;
    this.changes = admitted.changes;
    this.#message = message;
    this.#exchange = exchange;
  }

  request(): unknown {
    if (this.#message === null) throw new Error('the message of a call is decoded once');
    const { method, bytes } = this.#message;
    this.#message = null;
    return isDecodedInTurns(method, bytes.length)
      ? binaryInSlices(method, bytes)
      : decodeMessage(method, bytes);
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }
}

function isUsual(headers: IncomingHttpHeaders): boolean {
  const encoding = headers['grpc-encoding'];
  return (
    headers['content-type']?.startsWith('application/grpc') === true &&
    (encoding === undefined || encoding === 'identity') &&
    // grpc-js drops a header with other characters.
    (headers.authorization === undefined || /^[ -~]*$/.test(headers.authorization))
  );
}

const UNIT_MS = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 } as const;

/** In milliseconds; null: none. */
function deadlineOf(header: string | string[] | undefined): number | null | 'malformed' {
  if (header === undefined) return null;
  const [, amount, unit] = /^(\d{1,8})([HMSmun])$/.exec(String(header)) ?? [];
  if (amount === undefined || unit === undefined) return 'malformed';
  // A timer takes no more than this, and would fire at once.
  return Math.min(Math.trunc(Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]), 2 ** 31 - 1);
}
