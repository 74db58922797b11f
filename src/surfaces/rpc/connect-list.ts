/**
 * Answers lists over Connect. The library encodes an answer as a whole, which takes a tenth of a second for a thousand
 * machines; here it is encoded some entries at a time, and compressed outside of the event loop.
 */
import { type DescMethod, fromBinary, fromJsonString } from '@bufbuild/protobuf';
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';
import type { CheckedRequest } from './connect-body.ts';
import { compressedAs, responseEncoding } from './connect-compression.ts';
import { encodeInSlices, hasList, jsonInSlices } from './encode-in-slices.ts';
import { type AdmittedCall, type CallDependencies, callUnary } from './service.ts';

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
  const bytes = Buffer.from(await encode(method.output, answer));
  const header = new Headers({ 'content-type': framing.binary ? 'application/proto' : 'application/json' });
  const encoding = responseEncoding(
    request.header.get('accept-encoding') ?? undefined,
    bytes.length,
    method.output,
  );
  const body = encoding === null ? bytes : await compressedAs(encoding, bytes);
  if (encoding !== null) header.set('content-encoding', encoding);
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

async function* once(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}
