/**
 * One request to a Redfish service and its answer. Nothing is trusted: an answer has a largest size, a redirect is refused,
 * what is not JSON is said to be so, and the certificate is verified by an authority or compared with the one that the machine
 * has pinned. A request that changes something checks once more, on the open connection, that its sender holds the operation.
 */
import { randomBytes } from 'node:crypto';
import type { Agent } from 'node:http';
import { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type AddressRule, allowedAgent } from '../../connections/address-rules.ts';
import { exchange, NoAnswer } from '../../connections/http-exchange.ts';
import { openWebSocket, type WebSocketAnswer } from '../../connections/web-socket.ts';
import { messageRule } from '../service/vendor-quirk.ts';
import { fieldsOf } from './answer-fields.ts';
import { type ExtendedMessage, extendedMessages, wordsOf } from './extended-error.ts';
import type { RedfishEndpoint } from './redfish-endpoint.ts';
import { failureWithoutAnswer, RedfishFailure } from './redfish-failure.ts';

/** The largest resources of real BMCs, such as a registry of BIOS attributes, have some megabytes. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** A connection that is not used for so long is closed: BMCs have few. */
const IDLE_CONNECTION_MS = 5_000;

/** Of an answer that ends in the middle. */
export const BROKEN_JSON = 'is broken JSON';

/** A clock that is wrong says more. */
const MAX_RETRY_AFTER_MS = 24 * 3600 * 1000;

/** A file may take longer than any other request. */
const SLOWEST_UPLOAD_BYTES_PER_MS = 100;

export interface WireOptions {
  readonly endpoint: RedfishEndpoint;
  /** The address that was checked; the name is for the certificate. */
  readonly address: string;
  readonly rule: AddressRule;
  /** PEM of the authorities that are trusted; null: those of the system. */
  readonly authorities: string | null;
  /** SHA-256 of the one certificate that is taken, in lower-case hexadecimal; empty: it is verified by an authority. */
  readonly fingerprint: string;
  readonly limitMs: number;
}

/** A file, and what is said of it in JSON: a multipart body, as MultipartHttpPushUri takes it (DSP0266). */
export interface Upload {
  readonly parts: Readonly<Record<string, unknown>>;
  /** What the part of the file is called. */
  readonly part: string;
  readonly fileName: string;
  readonly bytes: number;
  readonly open: () => Readable;
}

export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly upload?: Upload;
  readonly signal: AbortSignal;
  /** Right before it is sent; throws where it may not be sent any more. */
  readonly beforeSending?: () => void;
  /** No harm is done by sending it twice, as with every read. */
  readonly repeats?: 'safely';
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: the answer has no body. */
  readonly body: unknown;
  readonly messages: readonly ExtendedMessage[];
}

export class RedfishWire {
  readonly where: string;
  readonly #options: WireOptions;
  readonly #origin: string;
  readonly #agent: Agent;
  /** A kept connection turned out to be dead. */
  #closesKept = false;

  constructor(options: WireOptions) {
    const { endpoint, address, rule, authorities } = options;
    const { protocol, host, port } = endpoint;
    this.#options = options;
    this.where = `${bracketed(host)}:${port}`;
    this.#origin = new URL(`${protocol}//${bracketed(address)}:${port}`).origin;
    this.#agent = allowedAgent(new URL(this.#origin), rule, {
      keepAlive: true,
      maxSockets: 1,
      timeout: IDLE_CONNECTION_MS,
      servername: host === address ? '' : host,
      minVersion: 'TLSv1.2',
      // checkPeer refuses it instead, before anything is sent: it can say which certificate was found.
      rejectUnauthorized: false,
      maxCachedSessions: 0,
      ...(authorities === null ? {} : { ca: authorities }),
    });
  }

  /** How long an answer may take. */
  get limitMs(): number {
    return this.#options.limitMs;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** An answer of any status but a redirect. What does no harm is repeated once when a kept connection turns out to be dead. */
  async ask(request: WireRequest): Promise<WireAnswer> {
    // What may not be sent twice is not tried on a connection that may be dead.
    if (this.#closesKept && request.method !== 'GET') this.#agent.destroy();
    try {
      return await this.#exchange(request);
    } catch (error) {
      const isDead = error instanceof NoAnswer && error.reason === 'broken';
      this.#closesKept ||= isDead;
      if (!isDead || (request.method !== 'GET' && request.repeats === undefined)) throw this.#failure(error);
    }
    try {
      return await this.#exchange(request);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** A connection of its own, which stays open. */
  async openSocket(
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<WebSocketAnswer> {
    try {
      return await openWebSocket({
        url: this.#urlOf(path),
        headers: { host: this.where, ...headers },
        agent: this.#agent,
        limitMs: this.#options.limitMs,
        signal,
        checkPeer: (socket) => this.#checkPeer(socket),
      });
    } catch (error) {
      throw this.#failure(error);
    }
  }

  #failure(error: unknown): unknown {
    return error instanceof NoAnswer ? failureWithoutAnswer(this.where, error) : error;
  }

  /** A path that a URL parser takes for another host, as "/\\host", would send the login there. */
  #urlOf(path: string): URL {
    const url = new URL(path, this.#origin);
    if (url.origin === this.#origin) return url;
    throw new RedfishFailure('Unreadable', this.where, `it names ${path}, which leads to another host`);
  }

  async #exchange(request: WireRequest): Promise<WireAnswer> {
    const { method, path, headers, body, upload, signal, beforeSending } = request;
    const sent = upload ? multipart(upload) : jsonBody(body);
    const { limitMs } = this.#options;
    const answer = await exchange({
      method,
      url: this.#urlOf(path),
      headers: {
        host: this.where,
        accept: 'application/json',
        'odata-version': '4.0',
        ...(sent && { 'content-type': sent.type, 'content-length': String(sent.bytes) }),
        ...headers,
      },
      body: sent === null ? null : sent.body,
      agent: this.#agent,
      limitMs: upload ? limitMs + upload.bytes / SLOWEST_UPLOAD_BYTES_PER_MS : limitMs,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      signal,
      beforeSending: beforeSending ?? (() => {}),
      checkPeer: (socket) => this.#checkPeer(socket),
    });
    const { status } = answer;
    if (status >= 300 && status < 400)
      throw new RedfishFailure('NotRedfish', this.where, `it redirects ${path}, which is not followed`);
    const parsed = parsedBody(answer.body);
    // A page of HTML that says "not found" is still an answer; a page that says 200 is not what was asked for.
    if (parsed === undefined && status < 300) {
      const isBroken = answer.body.trimStart().startsWith('{');
      throw new RedfishFailure('Unreadable', this.where, `${path} ${isBroken ? BROKEN_JSON : 'is not JSON'}`);
    }
    return { status, headers: answer.headers, body: parsed ?? null, messages: extendedMessages(parsed) };
  }

  #checkPeer(socket: TLSSocket): void {
    const { fingerprint: pinned } = this.#options;
    const found = fingerprintOf(socket);
    const isExpected = pinned === '' ? socket.authorized : found === pinned;
    if (isExpected) return;
    const expected =
      pinned === '' ? 'no trusted authority signed it for this name' : 'the machine has another one pinned';
    throw new RedfishFailure('CertificateUntrusted', this.where, `its SHA-256 is ${found}, and ${expected}`);
  }
}

interface SentBody {
  readonly type: string;
  readonly bytes: number;
  readonly body: string | (() => Readable);
}

function jsonBody(body: unknown): SentBody | null {
  if (body === undefined) return null;
  const text = JSON.stringify(body);
  return { type: 'application/json', bytes: Buffer.byteLength(text), body: text };
}

function multipart({ parts, part, fileName, bytes, open }: Upload): SentBody {
  const boundary = `ingot-${randomBytes(16).toString('hex')}`;
  const head = Object.entries(parts)
    .map(
      ([name, value]) =>
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: application/json\r\n\r\n${JSON.stringify(value)}\r\n`,
    )
    .join('');
  const before = `${head}--${boundary}\r\nContent-Disposition: form-data; name="${part}"; filename="${fileName}"\r\nContent-Type: application/octet-stream\r\n\r\n`;
  const after = `\r\n--${boundary}--\r\n`;
  const whole = async function* () {
    yield Buffer.from(before);
    yield* open();
    yield Buffer.from(after);
  };
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    bytes: Buffer.byteLength(before) + bytes + Buffer.byteLength(after),
    body: () => Readable.from(whole()),
  };
}

function fingerprintOf(socket: TLSSocket): string {
  return (socket.getPeerCertificate().fingerprint256 ?? '').replaceAll(':', '').toLowerCase();
}

/** What a status that is no success means. */
export function refusal(where: string, path: string, answer: WireAnswer): RedfishFailure {
  const { status, messages, headers } = answer;
  const words = wordsOf(messages);
  const detail = `${path} answered ${status}${words === '' ? '' : ` (${words})`}`;
  if (status === 401) return new RedfishFailure('AuthenticationFailed', where);
  if (status === 403) return new RedfishFailure('PrivilegeRefused', where, words);
  if (status === 503 || status === 429 || messageRule(messages) === 'try again')
    return new RedfishFailure('Busy', where, words, retryAfterMs(headers));
  // Its web server is there, and nothing behind it: as while a BMC starts. What was sent may have been carried out.
  if (status === 502 || status === 504) return new RedfishFailure('NoAnswer', where, detail);
  return new RedfishFailure('CommandRefused', where, detail);
}

/** In seconds, or as a date, which is compared with the clock of the service. */
export function retryAfterMs({
  'retry-after': header = '',
  date,
}: Readonly<Record<string, string>>): number | undefined {
  if (/^\d{1,6}$/.test(header)) return Number(header) * 1000;
  const ms = Date.parse(header) - Date.parse(date ?? '');
  return ms >= 0 && ms < MAX_RETRY_AFTER_MS ? ms : undefined;
}

/** Undefined: it is not JSON. Some services call JSON by another type, and other text by this one, so the type is not read. */
function parsedBody(text: string): unknown {
  if (text.trim() === '') return null;
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' ? fieldsOf(parsed) : undefined;
  } catch {
    return undefined;
  }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
