/** The serial console of a simulated BMC as a WebSocket of its web server, as bmcweb has it. It shares no code with the client. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const PATHS = ['/console0', '/console/default'];
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

export class WebSocketConsole {
  typed = '';
  /** How many have connected. */
  opened = 0;
  readonly #sockets = new Set<Duplex>();

  /** The status of a request to open it; 101: it is open. */
  upgrade(request: IncomingMessage, socket: Duplex, isKnown: boolean): number {
    const status = this.#statusOf(request, isKnown);
    socket.on('error', () => {});
    if (status !== 101) {
      socket.end(`HTTP/1.1 ${status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
      return status;
    }
    const key = request.headers['sec-websocket-key'] ?? '';
    const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    this.opened += 1;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    socket.on('data', (bytes: Buffer) => this.#receive(socket, bytes));
    this.#send(socket, 0x82, Buffer.from('machine login: '));
    return status;
  }

  /** As the machine does: in two frames of one message, with a ping between them. */
  write(text: string): void {
    const bytes = Buffer.from(text);
    for (const socket of this.#sockets) {
      this.#send(socket, 0x02, bytes.subarray(0, 3));
      this.#send(socket, 0x89, Buffer.from('ping'));
      this.#send(socket, 0x80, bytes.subarray(3));
    }
  }

  /** It ends the connection with a reason. */
  drop(reason: string): void {
    for (const socket of this.#sockets) {
      this.#send(socket, 0x88, Buffer.concat([Buffer.from([0x03, 0xe8]), Buffer.from(reason)]));
      socket.end();
    }
  }

  #statusOf({ url = '', headers }: IncomingMessage, isKnown: boolean): number {
    if (!isKnown) return 401;
    if (!PATHS.includes(url)) return 404;
    const isMeant = headers.upgrade === 'websocket' && headers['sec-websocket-version'] === '13';
    return isMeant ? 101 : 400;
  }

  #send(socket: Duplex, first: number, payload: Buffer): void {
    const { length } = payload;
    const head =
      length < 126 ? Buffer.from([first, length]) : Buffer.from([first, 126, length >> 8, length & 255]);
    socket.write(Buffer.concat([head, payload]));
  }

  /** Frames of a client are masked; one that is not ends the connection. */
  #receive(socket: Duplex, bytes: Buffer): void {
    let at = 0;
    while (at + 6 <= bytes.length) {
      const first = bytes.readUInt8(at);
      const second = bytes.readUInt8(at + 1);
      if (second < 0x80) return void socket.destroy();
      const isLong = (second & 0x7f) === 126;
      const length = isLong ? bytes.readUInt16BE(at + 2) : second & 0x7f;
      const start = at + (isLong ? 4 : 2);
      const mask = bytes.subarray(start, start + 4);
      const payload = Buffer.from(bytes.subarray(start + 4, start + 4 + length));
      for (let index = 0; index < payload.length; index += 1)
        payload[index] = (payload[index] ?? 0) ^ (mask[index % 4] ?? 0);
      at = start + 4 + length;
      if ((first & 0x0f) === 8) return void socket.end();
      if ((first & 0x0f) <= 2) this.typed += payload.toString('latin1');
    }
  }
}
