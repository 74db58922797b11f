/**
 * An HTTP/2 client of bare frames: `node:http2` sends no frame that breaks the protocol, stops at a GOAWAY, and hides
 * whether the server has closed the connection.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

const FRAMES = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6, goaway: 7 } as const;
const FLAGS = { none: 0, endStream: 1, ack: 1, endHeaders: 4 } as const;
const HEADER_BYTES = 9;

export interface RawHttp2Options {
  readonly port: number;
  /** Of the server's authority, where it has TLS. */
  readonly ca?: Buffer;
}

export class RawHttp2 {
  readonly #socket: Socket;
  readonly #scheme: string;
  #unread: Buffer = Buffer.alloc(0);
  #nextStream = 1;
  isClosed = false;
  /** The codes of the GOAWAY frames so far. */
  readonly goaways: number[] = [];

  static async open({ port, ca }: RawHttp2Options): Promise<RawHttp2> {
    const at = { port, host: '127.0.0.1' };
    const socket = ca ? connectTls({ ...at, ca, ALPNProtocols: ['h2'] }) : connect(at);
    await new Promise((resolve, reject) => {
      socket.once(ca ? 'secureConnect' : 'connect', resolve);
      socket.once('error', reject);
    });
    return new RawHttp2(socket, ca ? 'https' : 'http');
  }

  private constructor(socket: Socket, scheme: string) {
    this.#socket = socket;
    this.#scheme = scheme;
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
    });
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    this.#write(frame(FRAMES.settings, FLAGS.none, 0));
  }

  /** The HEADERS of a gRPC call, and the id of its stream. */
  request(path: string, { token, isWhole }: { readonly token?: string; readonly isWhole: boolean }): number {
    const id = this.#nextStream;
    this.#nextStream += 2;
    const headers = Buffer.concat([
      literal(':method', 'POST'),
      literal(':scheme', this.#scheme),
      literal(':path', path),
      literal(':authority', 'localhost'),
      literal('content-type', 'application/grpc'),
      literal('te', 'trailers'),
      ...(token === undefined ? [] : [literal('authorization', `Bearer ${token}`)]),
    ]);
    const flags = FLAGS.endHeaders | (isWhole ? FLAGS.endStream : FLAGS.none);
    this.#write(frame(FRAMES.headers, flags, id, headers));
    return id;
  }

  reset(stream: number, code: number): void {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(code);
    this.#write(frame(FRAMES.rstStream, FLAGS.none, stream, payload));
  }

  /** The message of a call: five bytes, and the end. */
  end(stream: number): void {
    this.#write(frame(FRAMES.data, FLAGS.endStream, stream, Buffer.alloc(5)));
  }

  close(): void {
    this.#socket.destroy();
  }

  #write(bytes: Buffer): void {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  #read(bytes: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    while (this.#unread.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + this.#unread.readUIntBE(0, 3);
      if (this.#unread.length < end) return;
      this.#take(this.#unread[3], this.#unread[4] ?? 0, this.#unread.subarray(HEADER_BYTES, end));
      this.#unread = this.#unread.subarray(end);
    }
  }

  #take(type: number | undefined, flags: number, payload: Buffer): void {
    if (type === FRAMES.goaway) this.goaways.push(payload.readUInt32BE(4));
    const isAsked = (flags & FLAGS.ack) === 0;
    if (type === FRAMES.settings && isAsked) this.#write(frame(FRAMES.settings, FLAGS.ack, 0));
    if (type === FRAMES.ping && isAsked) this.#write(frame(FRAMES.ping, FLAGS.ack, 0, payload));
  }
}

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header in HPACK, without an index or a Huffman code. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}
