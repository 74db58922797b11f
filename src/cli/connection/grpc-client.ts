/** Calls a gRPC service by its generated descriptor: a promise for a unary call, an async iterable for a stream. */
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type Client as Channel, Metadata, type ServiceError } from '@grpc/grpc-js';
import { callErrorFrom } from './read-call-error.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export type Client<S extends DescService> = {
  readonly [P in keyof S['method']]: S['method'][P] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
    : S['method'][P] extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageInitShape<I>, options?: CallOptions) => AsyncIterable<MessageShape<O>>
      : never;
};

/** Why a call is made: the comment of its events in the history. */
const REASON_HEADER = 'ingot-reason';

/** The time limit of a unary call. */
const UNARY_TIMEOUT_MS = 30_000;

export interface ClientSettings {
  readonly channel: Channel;
  readonly token: string | undefined;
  /** Of `--reason`: with every call, for those whose request has no field for it. */
  readonly reason?: string | undefined;
}

/** How a service's methods are found before its descriptor is loaded. A test compares it with the descriptors. */
export const STREAMING_METHODS: ReadonlySet<string> = new Set([
  'watchOperations',
  'streamOperationLogs',
  'watchRuns',
  'streamRunLogs',
  'watchRollout',
  'indexMachines',
  'watchEvents',
  'exportAudit',
  'readConsole',
]);

/** The descriptor is loaded with the first call: a command reads those of the services that it calls, and of no others. */
export function createClient<S extends DescService>(
  load: () => Promise<S>,
  settings: ClientSettings,
): Client<S> {
  const find = async (name: string): Promise<DescMethod> => {
    const method = (await load()).method[name];
    if (method === undefined) throw new TypeError(`there is no method ${name}`);
    return method;
  };
  const unary =
    (name: string): UnaryCall =>
    async (request, options) =>
      unaryCall(await find(name), settings)(request, options);
  const stream = (name: string): StreamCall =>
    async function* (request, options) {
      yield* streamCall(await find(name), settings)(request, options);
    };
  return new Proxy({} as Client<S>, {
    get: (_calls, name) => {
      // A promise that resolves to the client asks for "then".
      if (typeof name !== 'string' || name === 'then') return undefined;
      return STREAMING_METHODS.has(name) ? stream(name) : unary(name);
    },
  });
}

type UnaryCall = (
  request: MessageInitShape<DescMessage>,
  options?: CallOptions,
) => Promise<MessageShape<DescMessage>>;
type StreamCall = (
  request: MessageInitShape<DescMessage>,
  options?: CallOptions,
) => AsyncGenerator<MessageShape<DescMessage>>;

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function metadataFor({ token, reason }: ClientSettings): Metadata {
  const metadata = new Metadata();
  if (reason) metadata.set(REASON_HEADER, encodeURIComponent(reason));
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}

const encode = (schema: DescMessage) => (message: MessageShape<DescMessage>) =>
  Buffer.from(toBinary(schema, message));
const decode = (schema: DescMessage) => (bytes: Buffer) => fromBinary(schema, bytes);

function unaryCall(method: DescMethod, settings: ClientSettings): UnaryCall {
  return (request, options = {}) =>
    new Promise<MessageShape<DescMessage>>((resolve, reject) => {
      const cancel = (): void => call.cancel();
      const call = settings.channel.makeUnaryRequest(
        pathOf(method),
        encode(method.input),
        decode(method.output),
        create(method.input, request),
        metadataFor(settings),
        { deadline: Date.now() + UNARY_TIMEOUT_MS },
        (error, response) => {
          options.signal?.removeEventListener('abort', cancel);
          if (error !== null) reject(callErrorFrom(error));
          else if (response !== undefined) resolve(response);
        },
      );
      if (options.signal?.aborted === true) cancel();
      else options.signal?.addEventListener('abort', cancel, { once: true });
    });
}

function streamCall(method: DescMethod, settings: ClientSettings): StreamCall {
  return async function* (request, options = {}) {
    const call = settings.channel.makeServerStreamRequest(
      pathOf(method),
      encode(method.input),
      decode(method.output),
      create(method.input, request),
      metadataFor(settings),
    );
    const cancel = (): void => call.cancel();
    if (options.signal?.aborted === true) cancel();
    else options.signal?.addEventListener('abort', cancel, { once: true });
    try {
      for await (const message of call) yield message as MessageShape<DescMessage>;
    } catch (error) {
      throw isServiceError(error) ? callErrorFrom(error) : error;
    } finally {
      options.signal?.removeEventListener('abort', cancel);
      // A reader that stops early cancels the call. The error of the cancellation is expected.
      call.on('error', () => {});
      call.cancel();
    }
  };
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number';
}
