/** The gRPC mount: grpc-js on the wire, protobuf-es for the messages, health and reflection beside our services. */
import type { Http2Server } from 'node:http2';
import type { DescMessage, DescMethod, MessageInitShape } from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { Fault } from '../../domain/error/fault.ts';
import { decodeMessage, isDecodedInTurns, LARGEST_BODY_BYTES } from '../limits/message-limits.ts';
import { guardSessions, type SessionLimits } from '../limits/session-guard.ts';
import type { Readiness } from '../readiness.ts';
import { grpcCredentials } from '../tls/grpc-credentials.ts';
import type { TlsSource } from '../tls/tls-source.ts';
import { encodeBinary } from './codec/binary-encoder.ts';
import { binaryInSlices } from './decode-in-slices.ts';
import { encodeInSlices } from './encode-in-slices.ts';
import { GrpcAdmission } from './grpc-admission.ts';
import { serveCalls } from './grpc-calls.ts';
import { statusFor } from './grpc-status.ts';
import { addReflection } from './reflection.ts';
import {
  type CallDependencies,
  CallFailed,
  callStream,
  callUnary,
  type IncomingCall,
  type Service,
} from './service.ts';
import type { SharedBatch } from './shared-batch.ts';

/** More than one identity may have streams: the limit of an identity, and not this one, is what a client meets. */
const STREAMS_PER_CONNECTION = 1_000;
const SESSION_MEGABYTES = 64;

/** For the TLS handshake. */
const HANDSHAKE_MS = 10_000;

const CLIENT_GONE = 'the client is gone';

export interface GrpcServer {
  readonly port: number;
  /** Answers health checks with NOT_SERVING, so that clients go elsewhere. */
  drain(): void;
  stop(graceMs: number): Promise<void>;
}

export interface GrpcOptions {
  readonly host: string;
  readonly port: number;
  /** Null: plaintext. */
  readonly tls: TlsSource | null;
  readonly services: readonly Service[];
  readonly dependencies: CallDependencies;
  /** Health checks answer NOT_SERVING while it has a cause. */
  readonly readiness: Readiness;
  readonly sessions: SessionLimits;
}

export async function startGrpcServer(options: GrpcOptions): Promise<GrpcServer> {
  const admission = new GrpcAdmission(options.services, options.dependencies);
  const server = new grpc.Server({
    interceptors: [admission.interceptor],
    'grpc.max_receive_message_length': LARGEST_BODY_BYTES,
    'grpc.max_concurrent_streams': STREAMS_PER_CONNECTION,
    'grpc-node.max_session_memory': SESSION_MEGABYTES,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 10_000,
    'grpc.keepalive_permit_without_calls': 1,
  });
  const mount = { admission, dependencies: options.dependencies, slowReaderMs: options.sessions.stalledMs };
  for (const service of options.services) addService(server, service, mount);
  const health = new HealthImplementation({
    '': 'SERVING',
    ...Object.fromEntries(options.services.map(({ desc }) => [desc.typeName, 'SERVING' as const])),
  });
  let draining = false;
  const showHealth = () => {
    const status = draining || options.readiness.reason !== null ? 'NOT_SERVING' : 'SERVING';
    for (const name of ['', ...options.services.map(({ desc }) => desc.typeName)])
      health.setStatus(name, status);
  };
  const stopShowing = options.readiness.onChange(showHealth);
  showHealth();
  health.addToServer(server);
  addReflection(server, options.services);
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  const security = grpcCredentials(options.tls, Math.min(HANDSHAKE_MS, options.sessions.firstStreamMs));
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:${options.port}`, security.credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  for (const listening of http2ServersOf(server)) {
    serveCalls(listening, { ...options, slowReaderMs: options.sessions.stalledMs });
    guardSessions(listening, options.sessions);
  }
  return {
    port,
    drain: () => {
      draining = true;
      showHealth();
    },
    stop: (graceMs) =>
      new Promise((resolve) => {
        stopShowing();
        security.close();
        const timer = setTimeout(() => server.forceShutdown(), graceMs);
        server.tryShutdown(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}

/** grpc-js opens its own ports, and has no way in its API to see their connections. */
function http2ServersOf(server: grpc.Server): Http2Server[] {
  const servers: unknown = Reflect.get(server, 'http2Servers');
  if (!(servers instanceof Map) || servers.size === 0) throw new Error('grpc-js has no list of its ports');
  return [...servers.keys()];
}

const passBytes = (bytes: Buffer): Buffer => bytes;

/** What the handlers of every method share. */
interface Mount {
  readonly admission: GrpcAdmission;
  readonly dependencies: CallDependencies;
  /** A stream whose client reads nothing for this long is ended; the client can resume from its cursor. */
  readonly slowReaderMs: number;
}

function addService(server: grpc.Server, service: Service, mount: Mount): void {
  const definition: Record<string, grpc.MethodDefinition<Buffer, Buffer>> = {};
  const implementation: grpc.UntypedServiceImplementation = {};
  for (const method of service.desc.methods) {
    definition[method.localName] = {
      path: `/${service.desc.typeName}/${method.name}`,
      requestStream: false,
      responseStream: method.methodKind === 'server_streaming',
      requestSerialize: passBytes,
      requestDeserialize: passBytes,
      responseSerialize: passBytes,
      responseDeserialize: passBytes,
    };
    implementation[method.localName] =
      method.methodKind === 'server_streaming' ? streaming(method, mount) : unary(method, mount);
  }
  server.addService(definition, implementation);
}

function unary(method: DescMethod, { admission, dependencies }: Mount): grpc.handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    callUnary(incoming(method, admission, call), dependencies)
      .then((answer) => encodeInSlices(method.output, answer))
      .then(
        (bytes) => callback(null, bytes),
        (error: unknown) => callback(serviceError(error)),
      );
  };
}

function streaming(
  method: DescMethod,
  { admission, dependencies, slowReaderMs }: Mount,
): grpc.handleServerStreamingCall<Buffer, Buffer> {
  return (call) => {
    const send = (message: MessageInitShape<DescMessage>) =>
      writeWithRoom(call, encodeBinary(method.output, message), slowReaderMs);
    const sendShared = async ({ messages }: SharedBatch) => {
      for (const message of messages) await send(message);
    };
    callStream(incoming(method, admission, call), dependencies, { send, sendShared }).then(
      () => call.end(),
      (error: unknown) => call.emit('error', serviceError(error)),
    );
  };
}

type ReceivedCall = grpc.ServerUnaryCall<Buffer, Buffer> | grpc.ServerWritableStream<Buffer, Buffer>;

function incoming(method: DescMethod, admission: GrpcAdmission, call: ReceivedCall): IncomingCall {
  const gone = new AbortController();
  // With an explicit reason: the default one costs a stack trace after every call.
  call.on('cancelled', () => gone.abort(CLIENT_GONE));
  return {
    ...admission.of(call.metadata),
    signal: gone.signal,
    request: () =>
      isDecodedInTurns(method, call.request.length)
        ? binaryInSlices(method, call.request)
        : decodeMessage(method, call.request),
  };
}

/** Waits while the client's buffer is full, up to a limit. */
function writeWithRoom(
  call: grpc.ServerWritableStream<Buffer, Buffer>,
  bytes: Buffer,
  slowReaderMs: number,
): Promise<void> {
  if (call.write(bytes)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void) => () => {
      clearTimeout(timer);
      call.off('drain', onDrain);
      call.off('cancelled', onGone);
      finish();
    };
    const onDrain = settle(resolve);
    const onGone = settle(resolve);
    const timer = setTimeout(
      settle(() =>
        reject(
          new Fault('WATCH_TOO_SLOW', {
            message: 'the stream was not read for too long; resume from the last cursor',
          }),
        ),
      ),
      slowReaderMs,
    );
    call.on('drain', onDrain);
    call.on('cancelled', onGone);
  });
}

function serviceError(error: unknown): Partial<grpc.StatusObject> & Error {
  if (!(error instanceof CallFailed)) throw error;
  return Object.assign(new Error(error.fault.message), statusFor(error));
}
