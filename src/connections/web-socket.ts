/**
 * The client's side of a WebSocket (RFC 6455), as a stream of bytes: text and binary messages alike are what the other side wrote. A message
 * may be as long as it likes, for its frames are handed on as they come; a frame may not, for it is held until it is whole.
 */
import { createHash, randomBytes } from 'node:crypto';
import { type Agent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { lost, NoAnswer, whenConnected } from './http-exchange.ts';

export interface WebSocketRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Agent;
  readonly limitMs: number;
  readonly signal: AbortSignal;
  readonly checkPeer: (socket: TLSSocket) => void;
}

export type WebSocketAnswer =
  | { readonly isOpen: true; readonly socket: WebSocketStream }
  | { readonly isOpen: false; readonly status: number };

const ACCEPT_KEY = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
/** What is longer is no control frame. */
const MAX_CONTROL_BYTES = 125;
const MAX_FRAME_BYTES = 1024 * 1024;

export function openWebSocket(wanted: WebSocketRequest): Promise<WebSocketAnswer> {
  const { url, headers, agent, limitMs, signal, checkPeer } = wanted;
  signal.throwIfAborted();
  const key = randomBytes(16).toString('base64');
  const accept = createHash('sha1').update(`${key}${ACCEPT_KEY}`).digest('base64');
  const end = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  return new Promise((resolve, reject) => {
    const open = agent instanceof HttpsAgent ? httpsRequest : httpRequest;
    const request = open(url, {
      agent,
      headers: {
        ...headers,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': key,
      },
    });
    const settled = () => end.removeEventListener('abort', stop);
    const giveUp = (error: unknown) => {
      settled();
      reject(error);
      request.destroy();
    };
    const stop = () => giveUp(signal.aborted ? signal.reason : new NoAnswer('late', 'ETIMEDOUT'));
    end.addEventListener('abort', stop, { once: true });
    request.on('error', (error: NodeJS.ErrnoException) => giveUp(lost(error, 'before the answer')));
    request.once('response', (response) => {
      settled();
      response.destroy();
      resolve({ isOpen: false, status: response.statusCode ?? 0 });
    });
    request.once('upgrade', (response, socket, head) => {
      settled();
      if (response.headers['sec-websocket-accept'] !== accept) {
        socket.destroy();
        resolve({ isOpen: false, status: 101 });
      } else resolve({ isOpen: true, socket: new WebSocketStream(socket as Socket, head) });
    });
    request.once('socket', (socket) =>
      whenConnected(socket, () => {
        try {
          if (socket instanceof TLSSocket) checkPeer(socket);
          request.end();
        } catch (error) {
          giveUp(error);
        }
      }),
    );
  });
}

export class WebSocketStream {
  readonly #socket: Socket;
  #buffer: Buffer;
  /** What the other side gave as the reason of its end; empty: none. */
  closeReason = '';

  constructor(socket: Socket, head: Buffer) {
    this.#socket = socket;
    this.#buffer = head;
    socket.setTimeout(0);
    socket.setKeepAlive(true, 15_000);
    // Without a listener, an error would end the process; the end of the output says the same.
    socket.on('error', () => {});
  }

  /** Returns when the bytes were handed over, or the connection is gone. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#send(BINARY, bytes);
  }

  async close(): Promise<void> {
    await this.#send(CLOSE, Buffer.alloc(0));
    this.#socket.destroy();
  }

  /** Ends with the connection. */
  async *output(): AsyncGenerator<Uint8Array> {
    yield* this.#frames();
    try {
      for await (const chunk of this.#socket) {
        this.#buffer = Buffer.concat([this.#buffer, chunk as Buffer]);
        yield* this.#frames();
      }
    } catch {
      // It broke, which is an end like any other.
    }
    this.#socket.destroy();
  }

  /** What is whole in the buffer. */
  *#frames(): Generator<Uint8Array> {
    for (;;) {
      const frame = frameIn(this.#buffer);
      if (frame === null) return;
      if (frame === 'too large') {
        this.closeReason = `a frame has more than ${MAX_FRAME_BYTES} bytes`;
        this.#socket.destroy();
        return;
      }
      this.#buffer = this.#buffer.subarray(frame.end);
      const { opcode, payload } = frame;
      if (opcode === CLOSE) {
        this.closeReason = payload.subarray(2).toString('utf8');
        this.#socket.destroy();
        return;
      }
      if (opcode === PING && payload.length <= MAX_CONTROL_BYTES) void this.#send(PONG, payload);
      if (opcode <= BINARY && payload.length > 0) yield payload;
    }
  }

  #send(opcode: number, payload: Uint8Array): Promise<void> {
    if (!this.#socket.writable) return Promise.resolve();
    return new Promise((resolve) => this.#socket.write(frameOf(opcode, payload), () => resolve()));
  }
}

/** Null: there is no whole one. A frame of 0 (continuation), text and binary are alike here. */
function frameIn(buffer: Buffer): { opcode: number; payload: Buffer; end: number } | 'too large' | null {
  if (buffer.length < 2) return null;
  const opcode = buffer.readUInt8(0) & 0x0f;
  const short = buffer.readUInt8(1) & 0x7f;
  const head = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (buffer.length < head) return null;
  const length =
    short === 126 ? buffer.readUInt16BE(2) : short === 127 ? Number(buffer.readBigUInt64BE(2)) : short;
  if (length > MAX_FRAME_BYTES) return 'too large';
  const end = head + length;
  return buffer.length < end ? null : { opcode, payload: buffer.subarray(head, end), end };
}

/** A client masks what it sends. */
function frameOf(opcode: number, payload: Uint8Array): Buffer {
  const mask = randomBytes(4);
  const { length } = payload;
  const head = length < 126 ? Buffer.alloc(2) : Buffer.alloc(4);
  head.writeUInt8(0x80 | opcode, 0);
  head.writeUInt8(0x80 | Math.min(length, 126), 1);
  if (length >= 126) head.writeUInt16BE(length, 2);
  const masked = Buffer.from(payload);
  for (let at = 0; at < length; at += 1) masked[at] = (masked[at] ?? 0) ^ (mask[at % 4] ?? 0);
  return Buffer.concat([head, mask, masked]);
}
