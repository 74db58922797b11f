/** A bare gRPC client for load: no retries, no niceties, so that what is measured is the server. */
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';

export class LoadClient {
  readonly #client: grpc.Client;
  readonly #metadata = new grpc.Metadata();

  constructor(address: string, token: string) {
    this.#client = new grpc.Client(address, grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      // Channels with the same target share a connection otherwise, and a connection is a bottleneck.
      'grpc.use_local_subchannel_pool': 1,
    });
    this.#metadata.set('authorization', `Bearer ${token}`);
  }

  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { readonly input: I; readonly output: O },
    message: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        pathOf(method),
        (request: MessageShape<I>) => Buffer.from(toBinary(method.input, request)),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        create(method.input, message),
        this.#metadata,
        (error, response) => (error ? reject(error) : resolve(response as MessageShape<O>)),
      );
    });
  }

  /** The same without a decoded answer. */
  bytes<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { readonly input: I; readonly output: O },
    message: MessageInitShape<I>,
  ): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        pathOf(method),
        (request: MessageShape<I>) => Buffer.from(toBinary(method.input, request)),
        (bytes: Buffer) => bytes,
        create(method.input, message),
        this.#metadata,
        (error, response) => (error ? reject(error) : resolve(response as Buffer)),
      );
    });
  }

  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { readonly input: I; readonly output: O },
    message: MessageInitShape<I>,
  ): grpc.ClientReadableStream<MessageShape<O>> {
    return this.#client.makeServerStreamRequest(
      pathOf(method),
      (request: MessageShape<I>) => Buffer.from(toBinary(method.input, request)),
      (bytes: Buffer) => fromBinary(method.output, bytes),
      create(method.input, message),
      this.#metadata,
    );
  }

  close(): void {
    this.#client.close();
  }
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}
