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
import { callErrorFrom } from './call-error.ts';

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

/** The time limit of a unary call. */
const UNARY_TIMEOUT_MS = 30_000;

export interface ClientSettings {
  readonly channel: Channel;
  readonly token: string | undefined;
}

export function createClient<S extends DescService>(service: S, settings: ClientSettings): Client<S> {
  const calls = service.methods.map((method) => [
    method.localName,
    method.methodKind === 'server_streaming' ? streamCall(method, settings) : unaryCall(method, settings),
  ]);
  return Object.fromEntries(calls) as Client<S>;
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function metadataFor({ token }: ClientSettings): Metadata {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}

const encode = (schema: DescMessage) => (message: MessageShape<DescMessage>) =>
  Buffer.from(toBinary(schema, message));
const decode = (schema: DescMessage) => (bytes: Buffer) => fromBinary(schema, bytes);

function unaryCall(method: DescMethod, settings: ClientSettings) {
  return (request: MessageInitShape<DescMessage>, options: CallOptions = {}) =>
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

function streamCall(method: DescMethod, settings: ClientSettings) {
  return async function* (request: MessageInitShape<DescMessage>, options: CallOptions = {}) {
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
