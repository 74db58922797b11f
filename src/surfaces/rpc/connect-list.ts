/**
 * Answers lists over Connect. The library encodes an answer as a whole, which takes a tenth of a second for a thousand
 * machines; here it is encoded some entries at a time, and compressed outside of the event loop.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type DescMethod, fromBinary, fromJsonString } from '@bufbuild/protobuf';
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';
import type { CheckedRequest } from './connect-body.ts';
import { encodeInSlices, hasList, jsonInSlices } from './encode-in-slices.ts';
import { type AdmittedCall, type CallDependencies, callUnary } from './service.ts';

const COMPRESS_FROM_BYTES = 1_024;
const FAST_BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** Null: it is no such call, or its message is malformed, and the library answers it. A refusal is thrown. */
export async function answerList(
  method: DescMethod,
  { request, framing, message, decoded: given }: CheckedRequest,
  call: AdmittedCall,
  dependencies: CallDependencies,
): Promise<UniversalServerResponse | null> {
  // The library knows how to keep a deadline.
  if (framing === null || framing.envelope !== null || request.header.has('connect-timeout-ms')) return null;
  if (method.methodKind !== 'unary' || !hasList(method.output)) return null;
  const decoded = given ?? decodedOrNull(method, framing.binary, message);
  if (decoded === null) return null;
  const answer = await callUnary({ ...call, signal: request.signal, request: () => decoded }, dependencies);
  const encode = framing.binary ? encodeInSlices : jsonInSlices;
  const bytes = await encode(method.output, answer);
  const header = new Headers({ 'content-type': framing.binary ? 'application/proto' : 'application/json' });
  const body = await compressedFor(request.header.get('accept-encoding') ?? '', bytes, header);
  header.set('content-length', String(body.length));
  return { status: 200, header, body: once(body) };
}

function decodedOrNull(method: DescMethod, binary: boolean, message: Uint8Array): object | null {
  try {
    return binary
      ? fromBinary(method.input, message)
      : fromJsonString(method.input, Buffer.from(message).toString('utf8'));
  } catch {
    return null;
  }
}

async function compressedFor(accepted: string, bytes: Buffer, header: Headers): Promise<Buffer> {
  if (bytes.length < COMPRESS_FROM_BYTES) return bytes;
  const names = accepted.split(',').map((part) => part.trim());
  if (names.includes('gzip')) {
    header.set('content-encoding', 'gzip');
    return promisify(gzip)(bytes);
  }
  if (!names.includes('br')) return bytes;
  header.set('content-encoding', 'br');
  return promisify(brotliCompress)(bytes, FAST_BROTLI);
}

async function* once(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}
