/**
 * A bare gRPC client for load: no retries, no niceties, so that what is measured is the server. Single calls go straight to node:http2,
 * which takes a third of the processor time of a call of grpc-js: the client shares its cores with the server and the database.
 */
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';
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

/** Of a frame: a flag and the length of its message. */
const HEAD_BYTES = 5;
/** So that the server never waits for its client. */
const WINDOW_BYTES = 8 << 20;

interface Answer {
  readonly status: IncomingHttpHeaders;
  readonly chunks: readonly Buffer[];
}

export class LoadClient {
  readonly #address: string;
  readonly #authorization: string;
  #session: ClientHttp2Session | null = null;
  #streams: grpc.Client | null = null;

  constructor(address: string, token: string) {
    this.#address = address;
    this.#authorization = `Bearer ${token}`;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { readonly input: I; readonly output: O },
    message: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    return fromBinary(method.output, await this.bytes(method, message));
  }

  /** The same without a decoded answer. */
  async bytes<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { readonly input: I; readonly output: O },
    message: MessageInitShape<I>,
  ): Promise<Uint8Array> {
    const request = framed(toBinary(method.input, create(method.input, message)));
    const { status, chunks } = await this.#call(pathOf(method), request);
    if (status['grpc-status'] !== '0') throw refused(method, status);
    return messageOf(chunks);
  }

  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { readonly input: I; readonly output: O },
    message: MessageInitShape<I>,
  ): grpc.ClientReadableStream<MessageShape<O>> {
    this.#streams ??= new grpc.Client(this.#address, grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      // Channels with the same target share a connection otherwise, and a connection is a bottleneck.
      'grpc.use_local_subchannel_pool': 1,
    });
    const metadata = new grpc.Metadata();
    metadata.set('authorization', this.#authorization);
    return this.#streams.makeServerStreamRequest(
      pathOf(method),
      (request: MessageShape<I>) => Buffer.from(toBinary(method.input, request)),
      (bytes: Buffer) => fromBinary(method.output, bytes),
      create(method.input, message),
      metadata,
    );
  }

  close(): void {
    this.#session?.close();
    this.#streams?.close();
  }

  #call(path: string, request: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const call = this.#connected().request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        authorization: this.#authorization,
      });
      const chunks: Buffer[] = [];
      let status: IncomingHttpHeaders = {};
      const take = (headers: IncomingHttpHeaders): void => {
        if (headers['grpc-status'] !== undefined) status = headers;
      };
      // A refusal has its status in the headers, an answer behind its message.
      call.on('response', take);
      call.on('trailers', take);
      call.on('data', (chunk: Buffer) => chunks.push(chunk));
      call.on('error', reject);
      call.on('end', () => resolve({ status, chunks }));
      call.end(request);
    });
  }

  #connected(): ClientHttp2Session {
    if (this.#session !== null && !this.#session.closed && !this.#session.destroyed) return this.#session;
    const session = connect(`http://${this.#address}`, { settings: { initialWindowSize: WINDOW_BYTES } });
    session.once('connect', () => session.setLocalWindowSize(WINDOW_BYTES));
    // Each call that it had fails with the same error.
    session.on('error', () => {});
    this.#session = session;
    return session;
  }
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, HEAD_BYTES);
  return frame;
}

function messageOf(chunks: readonly Buffer[]): Uint8Array {
  const [first] = chunks;
  const frame = chunks.length === 1 && first ? first : Buffer.concat(chunks);
  const end = HEAD_BYTES + (frame.length < HEAD_BYTES ? 0 : frame.readUInt32BE(1));
  if (frame.length !== end) throw new Error(`an answer has ${frame.length} bytes, and not ${end}`);
  return frame.subarray(HEAD_BYTES);
}

function refused(method: DescMethod, status: IncomingHttpHeaders): Error {
  const code = status['grpc-status'] ?? 'none';
  return new Error(
    `${method.name}: status ${code}, ${decodeURIComponent(String(status['grpc-message'] ?? ''))}`,
  );
}
