/** The gRPC mount: grpc-js on the wire, protobuf-es for the messages, health and reflection beside our services. */
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import { Fault } from '../../domain/error/fault.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { credentialsOfCall } from '../access/credentials.ts';
import { statusOf, WIRE } from '../fault-wire.ts';
import type { Readiness } from '../readiness.ts';
import { grpcCredentials } from '../tls/grpc-credentials.ts';
import type { TlsSource } from '../tls/tls-source.ts';
import { addReflection } from './reflection.ts';
import {
  type CallDependencies,
  CallFailed,
  callStream,
  callUnary,
  type IncomingCall,
  type Service,
} from './service.ts';

export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** A stream whose client reads nothing for this long is ended; the client can resume from its cursor. */
const SLOW_READER_MS = 60_000;

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
}

export async function startGrpcServer(options: GrpcOptions): Promise<GrpcServer> {
  const server = new grpc.Server({
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 10_000,
    'grpc.keepalive_permit_without_calls': 1,
  });
  for (const service of options.services) addService(server, service, options.dependencies);
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
  addReflection(server, { services: options.services, authenticator: options.dependencies.authenticator });
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  const security = grpcCredentials(options.tls, HANDSHAKE_MS);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:${options.port}`, security.credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
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

const passBytes = (bytes: Buffer): Buffer => bytes;

function addService(server: grpc.Server, service: Service, dependencies: CallDependencies): void {
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
      method.methodKind === 'server_streaming'
        ? streaming(service, method, dependencies)
        : unary(service, method, dependencies);
  }
  server.addService(definition, implementation);
}

function unary(
  service: Service,
  method: DescMethod,
  dependencies: CallDependencies,
): grpc.handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    callUnary(incoming(service, method, call, call.request), dependencies).then(
      (response) => callback(null, encode(method, response)),
      (error: unknown) => callback(serviceError(error)),
    );
  };
}

function streaming(
  service: Service,
  method: DescMethod,
  dependencies: CallDependencies,
): grpc.handleServerStreamingCall<Buffer, Buffer> {
  return (call) => {
    callStream(incoming(service, method, call, call.request), dependencies, (message) =>
      writeWithRoom(call, encode(method, message)),
    ).then(
      () => call.end(),
      (error: unknown) => call.emit('error', serviceError(error)),
    );
  };
}

function encode(method: DescMethod, message: MessageInitShape<DescMessage>): Buffer {
  return Buffer.from(toBinary(method.output, create(method.output, message)));
}

function incoming(
  service: Service,
  method: DescMethod,
  call: grpc.ServerUnaryCall<Buffer, Buffer> | grpc.ServerWritableStream<Buffer, Buffer>,
  bytes: Buffer,
): IncomingCall {
  const gone = new AbortController();
  // With an explicit reason: the default one costs a stack trace after every call.
  call.on('cancelled', () => gone.abort(CLIENT_GONE));
  return {
    service,
    method: method.localName,
    credentials: credentialsOfCall(call),
    signal: gone.signal,
    request: () => {
      try {
        return fromBinary(method.input, bytes);
      } catch (error) {
        throw new Fault('MALFORMED_MESSAGE', {
          message: `the request is not a valid ${method.input.typeName}`,
          context: error,
        });
      }
    },
  };
}

/** Waits while the client's buffer is full, up to a limit. */
function writeWithRoom(call: grpc.ServerWritableStream<Buffer, Buffer>, bytes: Buffer): Promise<void> {
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
      SLOW_READER_MS,
    );
    call.on('drain', onDrain);
    call.on('cancelled', onGone);
  });
}

function serviceError(error: unknown): Partial<grpc.StatusObject> & Error {
  if (!(error instanceof CallFailed)) throw error;
  const { fault, requestId } = error;
  const metadata = new grpc.Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(toBinary(StatusSchema, statusOf(fault, requestId))));
  // What clients of gRPC obey by themselves, as RetryInfo is for their callers.
  if (fault.retryAfterSeconds !== null)
    metadata.set('grpc-retry-pushback-ms', String(Math.ceil(fault.retryAfterSeconds * 1000)));
  return Object.assign(new Error(fault.message), {
    code: WIRE[fault.kind].grpc,
    details: fault.message,
    metadata,
  });
}
