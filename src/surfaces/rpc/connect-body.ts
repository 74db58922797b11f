/**
 * Reads the one message of a Connect or gRPC-Web call within the limits of its method, decompresses it, and hands it on
 * without compression. So the library never reads, inflates or decodes more than the call may cost.
 */
import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip } from 'node:zlib';
import type { DescMethod } from '@bufbuild/protobuf';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import { parseContentType as parseConnectType } from '@connectrpc/connect/protocol-connect';
import { parseContentType as parseWebType } from '@connectrpc/connect/protocol-grpc-web';
import { Fault } from '../../domain/error/fault.ts';
import {
  checkBinary,
  checkJson,
  isDecodedInTurns,
  maxBytesOf,
  requestTooLarge,
} from '../limits/message-limits.ts';
import { checkedBinaryInSlices, jsonMessageInSlices } from './decode-in-slices.ts';
import { takesNumberTexts, withNumberTexts } from './number-texts.ts';

export interface Framing {
  readonly binary: boolean;
  /** Null: the body is the message; otherwise it is in an envelope. */
  readonly envelope: 'connect' | 'web' | null;
  /** The header that names the compression. */
  readonly encodingHeader: string;
}

const ENVELOPE_BYTES = 5;
const COMPRESSED = 1;

const INFLATE = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
} as const;

/** Null: not a type that the method takes, which the library answers. */
function framingOf(method: DescMethod, request: UniversalServerRequest): Framing | null {
  const type = request.header.get('content-type');
  const connect = parseConnectType(type);
  if (connect && connect.stream === (method.methodKind !== 'unary')) {
    return connect.stream
      ? { binary: connect.binary, envelope: 'connect', encodingHeader: 'connect-content-encoding' }
      : { binary: connect.binary, envelope: null, encodingHeader: 'content-encoding' };
  }
  const web = parseWebType(type);
  if (!web || web.text) return null;
  return { binary: web.binary, envelope: 'web', encodingHeader: 'grpc-encoding' };
}

/** A request whose message was read and checked. */
export interface CheckedRequest {
  readonly request: UniversalServerRequest;
  /** Null: not of a type that the method takes. */
  readonly framing: Framing | null;
  readonly message: Uint8Array;
  /** Null: its message is yet to be decoded. */
  readonly decoded: object | null;
}

export async function withCheckedBody(
  method: DescMethod,
  request: UniversalServerRequest,
): Promise<CheckedRequest> {
  const framing = framingOf(method, request);
  if (framing === null || request.method !== 'POST') {
    const message = new Uint8Array();
    return { request: withMessage(request, framing, message), framing: null, message, decoded: null };
  }
  const encoding = request.header.get(framing.encodingHeader) ?? 'identity';
  if (encoding !== 'identity' && !Object.hasOwn(INFLATE, encoding))
    throw malformed(method, 'it is compressed in a way that is not known here; use gzip or br');
  const limit = maxBytesOf(method);
  const body = await readUpTo(request, limit + (framing.envelope ? ENVELOPE_BYTES : 0), limit);
  const read = await messageOf(body, framing, encoding as 'identity' | keyof typeof INFLATE, limit, method);
  const message = framing.binary ? checkedBinary(method, read) : checkedJson(method, read);
  // The library quotes what it can't decode, and half of a surrogate pair can't be in the trailers of gRPC-Web.
  const isWebJson = framing.envelope === 'web' && !framing.binary;
  if (!isWebJson && !isDecodedInTurns(method, message.length))
    return { request: withMessage(request, framing, message), framing, message, decoded: null };
  const decoded = await (framing.binary ? checkedBinaryInSlices : jsonMessageInSlices)(method, message);
  return { request: withEmptyBody(method, request), framing, message, decoded };
}

function checkedBinary(method: DescMethod, message: Uint8Array): Uint8Array {
  checkBinary(method, message);
  return message;
}

function checkedJson(method: DescMethod, message: Uint8Array): Uint8Array {
  if (!isUtf8(message)) throw malformed(method, 'it is not UTF-8');
  checkJson(method, message);
  // Long lists are decoded in slices, which does it too.
  return takesNumberTexts(method) && !isDecodedInTurns(method, message.length)
    ? withNumberTexts(method.input, message)
    : message;
}

/** The same request with a message that every method takes, for a refusal that does not depend on the message. */
export function withEmptyBody(method: DescMethod, request: UniversalServerRequest): UniversalServerRequest {
  const framing = framingOf(method, request);
  return withMessage(request, framing, framing?.binary === false ? Buffer.from('{}') : new Uint8Array());
}

function withMessage(
  request: UniversalServerRequest,
  framing: Framing | null,
  message: Uint8Array,
): UniversalServerRequest {
  const header = new Headers(request.header);
  header.delete('content-length');
  if (framing) header.delete(framing.encodingHeader);
  const body = framing?.envelope ? enveloped(message) : message;
  return { ...request, header, body: once(body) };
}

function enveloped(message: Uint8Array): Uint8Array {
  const head = Buffer.alloc(ENVELOPE_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

async function* once(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  if (chunk.length > 0) yield chunk;
}

async function readUpTo({ body }: UniversalServerRequest, maxBytes: number, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Not `for await`, which ends the connection when it is left before the end, and the answer with it.
  const iterator = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
    length += next.value.length;
    if (length > maxBytes) throw requestTooLarge(limit);
    chunks.push(next.value);
  }
  const [first] = chunks;
  // A body that was read before comes in one piece, and may be 4 MiB: it is not copied.
  return first && chunks.length === 1
    ? Buffer.from(first.buffer, first.byteOffset, length)
    : Buffer.concat(chunks);
}

async function messageOf(
  body: Buffer,
  { envelope }: Framing,
  encoding: 'identity' | keyof typeof INFLATE,
  limit: number,
  method: DescMethod,
): Promise<Buffer> {
  if (envelope === null) return inflated(body, encoding, limit, method);
  if (body.length < ENVELOPE_BYTES) throw malformed(method, 'its envelope is cut off');
  const flags = body[0] ?? 0;
  const message = body.subarray(ENVELOPE_BYTES);
  if (message.length !== body.readUInt32BE(1))
    throw malformed(method, 'it must be one message, of the length in its envelope');
  if (flags === 0) return message;
  if (flags !== COMPRESSED) throw malformed(method, 'the flags of its envelope are not known');
  if (encoding === 'identity')
    throw malformed(method, 'it is flagged as compressed, and no encoding is named');
  return inflated(message, encoding, limit, method);
}

async function inflated(
  bytes: Buffer,
  encoding: 'identity' | keyof typeof INFLATE,
  limit: number,
  method: DescMethod,
): Promise<Buffer> {
  if (encoding === 'identity' || bytes.length === 0) return bytes;
  try {
    return await INFLATE[encoding](bytes, { maxOutputLength: limit });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw requestTooLarge(limit);
    throw malformed(method, `it is not compressed with ${encoding}`);
  }
}

function malformed(method: DescMethod, problem: string): Fault {
  return new Fault('MALFORMED_MESSAGE', {
    message: `the request is not a valid ${method.input.typeName}: ${problem}`,
  });
}
