/**
 * One gRPC call on its HTTP/2 stream: reads the message of the client, writes messages and, once, a status. What it sends, and what
 * it says to a client that sends something else, is what grpc-js sends and says.
 */
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import * as grpc from '@grpc/grpc-js';
import { Fault } from '../../domain/error/fault.ts';
import { LARGEST_BODY_BYTES, requestTooLarge } from '../limits/message-limits.ts';
import { type GrpcStatus, statusFor } from './grpc-status.ts';
import { CallFailed } from './service.ts';

/** Of a frame: a flag and the length of its message. */
export const HEAD_BYTES = 5;
const TRAILERS_ONLY = { ':status': 200, 'content-type': 'application/grpc+proto' } as const;
const RESPONSE = {
  ...TRAILERS_ONLY,
  'grpc-accept-encoding': 'identity,deflate,gzip',
  'grpc-encoding': 'identity',
};
/** A call has no date: no part of gRPC reads one, and both sides would handle a header more. */
const WITH_TRAILERS = { waitForTrailers: true, sendDate: false } as const;
const ENDED = { endStream: true, sendDate: false } as const;
const SUCCESS = { 'grpc-status': 0, 'grpc-message': 'OK' } as const;

/**
 * What may wait in a stream before its sender does. A wait for each batch costs more than the batch, and the bytes of a batch are the same
 * for all who watch the same. A client that reads nothing holds no more than this and one message.
 */
const ROOM_BYTES = 64 * 1024;

const CLIENT_GONE = 'the client is gone';

/** How long the message of a call may take to arrive. */
const MESSAGE_MS = 30_000;

/** The length of a message before it, as gRPC has it; the message starts after 5 bytes. */
export function withFrameHead(framed: Buffer): Buffer {
  framed[0] = 0;
  framed.writeUInt32BE(framed.length - HEAD_BYTES, 1);
  return framed;
}

/** Every error is followed by 'close', which ends the call. */
const ignoreError = (): void => {};

/**
 * A stream is freed long after its call: its handle outlives every collection of new objects. So what the call had is dropped at the end.
 * Each listener is for an event that comes once or never, or for all of its kind: `once` would add and remove a wrapper.
 */
export class GrpcExchange {
  readonly #stream: ServerHttp2Stream;
  readonly #path: string;
  #deadline: NodeJS.Timeout | undefined;
  #messageTimer: NodeJS.Timeout | undefined;
  #reader: MessageReader | null = null;
  #onMessage: ((bytes: Buffer) => void) | null = null;
  #gone: AbortController | null = null;
  #isOver = false;
  #hasStatus = false;
  #onRoom: (() => void) | null = null;

  /** `deadlineMs`: what the client gives the call; null: any time. */
  constructor(stream: ServerHttp2Stream, path: string, deadlineMs: number | null) {
    this.#stream = stream;
    this.#path = path;
    stream.on('error', ignoreError);
    stream.on('close', () => this.#end());
    if (deadlineMs !== null) {
      const late = { code: grpc.status.DEADLINE_EXCEEDED, details: 'Deadline exceeded', metadata: null };
      this.#deadline = setTimeout(() => this.fail(late), deadlineMs);
    }
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Aborted when the call is over. Made when it is first asked for: most calls are over before. */
  get signal(): AbortSignal {
    this.#gone ??= new AbortController();
    // With an explicit reason: the default one costs a stack trace after every call.
    if (this.#isOver) this.#gone.abort(CLIENT_GONE);
    return this.#gone.signal;
  }

  /** Until then the stream is paused, and the client can send no more than its window. */
  read(onMessage: (bytes: Buffer) => void): void {
    const stream = this.#stream;
    this.#messageTimer = setTimeout(() => this.fail(statusFor(tooLate())), MESSAGE_MS).unref();
    this.#reader = new MessageReader();
    this.#onMessage = onMessage;
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('end', () => this.#handOver());
  }

  #take(chunk: Buffer): void {
    const reader = this.#reader;
    if (reader === null) return;
    const problem = reader.push(chunk);
    if (problem === 'too large')
      this.fail(statusFor(new CallFailed(requestTooLarge(LARGEST_BODY_BYTES), '')));
    else if (problem === 'second') this.#refuse('a second request message');
    else if (problem === 'flagged') this.fail(statusFor(wrongFlag()));
    else if (reader.message !== null) clearTimeout(this.#messageTimer);
  }

  /** The client sends no more. */
  #handOver(): void {
    if (this.#reader === null) return;
    const { message } = this.#reader;
    const onMessage = this.#onMessage;
    this.#reader = null;
    this.#onMessage = null;
    if (message === null) this.#refuse('no request message');
    else onMessage?.(message);
  }

  #refuse(received: string): void {
    const details = `Received ${received} for server streaming method ${this.#path}`;
    this.fail({ code: grpc.status.UNIMPLEMENTED, details, metadata: null });
  }

  /** The only message of an answer, and the end. */
  answer(framed: Buffer): void {
    if (this.#isDone()) return;
    const stream = this.#stream;
    stream.respond(RESPONSE, WITH_TRAILERS);
    this.#endWith(SUCCESS, framed);
  }

  /** Messages of a stream, in their frames. Null: there is room for more; otherwise resolves when there is. */
  write(framed: Buffer, slowReaderMs: number): Promise<void> | null {
    if (this.#isDone()) return null;
    const stream = this.#stream;
    if (!stream.headersSent) stream.respond(RESPONSE, WITH_TRAILERS);
    return stream.write(framed) || stream.writableLength <= ROOM_BYTES ? null : this.#untilRoom(slowReaderMs);
  }

  /** The end of a stream. */
  close(): void {
    if (this.#isDone()) return;
    if (!this.#stream.headersSent) this.#stream.respond(RESPONSE, WITH_TRAILERS);
    this.#endWith(SUCCESS);
  }

  fail({ code, details, metadata }: GrpcStatus): void {
    if (this.#isDone()) return;
    const status = { 'grpc-status': code, 'grpc-message': encodeURI(details), ...metadata?.toHttp2Headers() };
    if (this.#stream.headersSent) {
      this.#endWith(status);
      return;
    }
    this.#hasStatus = true;
    this.#stream.respond({ ...status, ...TRAILERS_ONLY }, ENDED);
    this.#end();
  }

  #endWith(trailers: OutgoingHttpHeaders, last?: Buffer): void {
    this.#hasStatus = true;
    const stream = this.#stream;
    stream.on('wantTrailers', () => {
      stream.sendTrailers(trailers);
      this.#end();
    });
    if (last === undefined) stream.end();
    else stream.end(last);
  }

  #isDone(): boolean {
    return this.#isOver || this.#hasStatus || this.#stream.destroyed || this.#stream.closed;
  }

  /** A client that takes nothing for too long is refused, and can resume from its cursor. */
  #untilRoom(slowReaderMs: number): Promise<void> {
    const stream = this.#stream;
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        stream.off('drain', onRoom);
        this.#onRoom = null;
        finish();
      };
      const onRoom = () => settle(resolve);
      const timer = setTimeout(() => settle(() => reject(tooSlow())), slowReaderMs);
      this.#onRoom = onRoom;
      stream.on('drain', onRoom);
    });
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#messageTimer);
    this.#reader = null;
    this.#onMessage = null;
    this.#onRoom?.();
    this.#gone?.abort(CLIENT_GONE);
    // Drops what the client still sends.
    this.#stream.resume();
  }
}

function tooLate(): CallFailed {
  const fault = new Fault('MALFORMED_MESSAGE', { message: 'the message of the call did not arrive in time' });
  return new CallFailed(fault, '');
}

function wrongFlag(): CallFailed {
  const message =
    'the message has a flag that is not known here: compression needs the header grpc-encoding to name it';
  return new CallFailed(new Fault('MALFORMED_MESSAGE', { message }), '');
}

function tooSlow(): Fault {
  return new Fault('WATCH_TOO_SLOW', {
    message: 'the stream was not read for too long; resume from the last cursor',
  });
}

/** Takes frames as they arrive, in chunks that end anywhere. A message is put together once, when all of it is there. */
class MessageReader {
  message: Buffer | null = null;
  #rest: Buffer[] = [];
  #length = 0;

  push(chunk: Buffer): 'too large' | 'second' | 'flagged' | null {
    this.#rest.push(chunk);
    this.#length += chunk.length;
    while (this.#length >= HEAD_BYTES) {
      const head = this.#head();
      const size = head.readUInt32BE(1);
      if (size > LARGEST_BODY_BYTES) return 'too large';
      // Calls that name a compression are not read here.
      if (head[0] !== 0) return 'flagged';
      const end = HEAD_BYTES + size;
      if (this.#length < end) return null;
      if (this.message !== null) return 'second';
      const bytes = this.#whole();
      this.message = bytes.subarray(HEAD_BYTES, end);
      this.#rest = bytes.length > end ? [bytes.subarray(end)] : [];
      this.#length = bytes.length - end;
    }
    return null;
  }

  /** The first chunk, once it has the whole head. */
  #head(): Buffer {
    const [first] = this.#rest;
    return first && first.length >= HEAD_BYTES ? first : this.#whole();
  }

  #whole(): Buffer {
    const [first] = this.#rest;
    if (first && this.#rest.length === 1) return first;
    const whole = Buffer.concat(this.#rest, this.#length);
    this.#rest = [whole];
    return whole;
  }
}
