/**
 * Replaces the texts of errors that the Connect library raises before a handler runs, which quote its decoder. Our
 * own errors have details and those of the library have none; that tells them apart in the three places where an
 * error is sent: the body of a unary call, the last envelope of a stream, and the trailers of gRPC-Web.
 */
import type { DescMethod } from '@bufbuild/protobuf';
import type {
  UniversalHandler,
  UniversalServerRequest,
  UniversalServerResponse,
} from '@connectrpc/connect/protocol';

const END_STREAM = 0b10;
const WEB_TRAILERS = 0b1000_0000;
const ENVELOPE_BYTES = 5;

/** `prepare` checks the request before the library reads it, or answers it. */
export function inOurWords(
  handler: UniversalHandler,
  prepare: (request: UniversalServerRequest) => Promise<UniversalServerRequest | UniversalServerResponse>,
): UniversalHandler {
  const { method } = handler;
  const handle: (...call: Parameters<UniversalHandler>) => Promise<UniversalServerResponse> = async (
    request,
  ) => {
    const prepared = await prepare(request);
    if ('status' in prepared) return prepared;
    const response = await handler(prepared);
    const message = response.header?.get('grpc-message');
    if (message && !response.header?.has('grpc-status-details-bin')) {
      const text = textFor(method, decodeURIComponent(message));
      response.header?.set('grpc-message', encodeURIComponent(text));
      if (text.startsWith(NOT_VALID)) response.header?.set('grpc-status', MALFORMED_STATUS);
    }
    return withBody(response, method);
  };
  const { protocolNames, service, requestPath, supportedContentType, allowedMethods } = handler;
  return Object.assign(handle, {
    protocolNames,
    service,
    method,
    requestPath,
    supportedContentType,
    allowedMethods,
  });
}

async function withBody(
  response: UniversalServerResponse,
  method: DescMethod,
): Promise<UniversalServerResponse> {
  const { body, header, status } = response;
  if (typeof body !== 'object' || header?.get('content-encoding') !== null) return response;
  const type = header.get('content-type') ?? '';
  if (status >= 400 && type === 'application/json') {
    const error = translated(JSON.parse(await textOf(body)) as WireError, method);
    // The content-length is that of the replaced text.
    header.delete('content-length');
    return {
      ...response,
      status: error.code === MALFORMED ? 400 : error.message?.startsWith(TOO_LARGE) ? 413 : status,
      body: once(Buffer.from(JSON.stringify(error))),
    };
  }
  if (type.startsWith('application/connect+') || type.startsWith('application/grpc-web')) {
    return { ...response, body: mapped(body, (chunk) => lastEnvelope(chunk, method)) };
  }
  return response;
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString('utf8');
}

async function* once(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}

async function* mapped(
  chunks: AsyncIterable<Uint8Array>,
  map: (chunk: Uint8Array) => Uint8Array,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield map(chunk);
}

interface WireError {
  readonly code?: string;
  readonly message?: string;
  readonly details?: readonly unknown[];
}

/** A message that cannot be decoded is the client's error, whatever code the library gives it. */
const MALFORMED = 'invalid_argument';
const MALFORMED_STATUS = '3';

function translated(error: WireError, method: DescMethod): WireError {
  if (error.details) return error;
  const message = textFor(method, error.message ?? '');
  return { ...error, ...(message.startsWith(NOT_VALID) && { code: MALFORMED }), message };
}

/** Each chunk of a stream is one envelope: flags, length, content. */
function lastEnvelope(chunk: Uint8Array, method: DescMethod): Uint8Array {
  const flags = chunk[0] ?? 0;
  if (flags !== END_STREAM && flags !== WEB_TRAILERS) return chunk;
  const content = Buffer.from(chunk.subarray(ENVELOPE_BYTES)).toString('utf8');
  if (flags === END_STREAM) {
    const end = JSON.parse(content) as { readonly error?: WireError };
    return end.error
      ? envelope(flags, JSON.stringify({ ...end, error: translated(end.error, method) }))
      : chunk;
  }
  if (!/^grpc-status-details-bin:/im.test(content)) {
    const words = /^grpc-message: ?(.*?)\r?$/im.exec(content)?.[1];
    if (words === undefined) return chunk;
    const message = textFor(method, decodeURIComponent(words));
    const text = content.replace(words, encodeURIComponent(message));
    const isMalformed = message.startsWith(NOT_VALID);
    return envelope(
      flags,
      isMalformed ? text.replace(/^(grpc-status: ?)\d+/im, `$1${MALFORMED_STATUS}`) : text,
    );
  }
  return chunk;
}

function envelope(flags: number, content: string): Uint8Array {
  const bytes = Buffer.from(content);
  const head = Buffer.alloc(ENVELOPE_BYTES);
  head[0] = flags;
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

const NOT_VALID = 'the request is not a valid';
const TOO_LARGE = 'the request is too large';

/** Patterns in the texts of the decoder, and what each says about the field. */
const PLACES = [
  [/key "([^"]{1,80})" is unknown/, (field: string) => `there is no field ${field}`],
  [
    /cannot decode field (?:[\w.]+\.)?(\w+) from JSON/,
    (field: string) => `${field} has a value of the wrong kind`,
  ],
  [/field (?:[\w.]+\.)?(\w+) set multiple times/, (field: string) => `${field} is there twice`],
  [/()(?:unexpected|JSON at position|Unterminated|Unexpected|not valid JSON)/, () => 'it is not JSON'],
] as const;

/** What is wrong with a message, for the words of the decoder. */
export function malformedText(method: DescMethod, words: string): string {
  const text = textFor(method, words);
  return text.startsWith(NOT_VALID) ? text : `${NOT_VALID} ${method.input.typeName}`;
}

function textFor(method: DescMethod, words: string): string {
  if (/timed out|deadline|aborted|canceled|internal error/i.test(words)) return words;
  if (/exceeds? configured|readMaxBytes|larger than|too large/i.test(words)) return TOO_LARGE;
  const whole = `${NOT_VALID} ${method.input.typeName}`;
  for (const [place, text] of PLACES) {
    const found = place.exec(words);
    if (found) return `${whole}: ${text(found[1] ?? '')}`;
  }
  return whole;
}
