/** As little of an HTTP client as will do, so that what is measured is the server. */
import { connect, type Socket } from 'node:net';

export interface Answered {
  readonly status: number;
  /** 0 when the server did not ask for it. */
  readonly retryAfterMs: number;
}

export interface ConnectionOptions {
  readonly port: number;
  /** Each has ports of its own. */
  readonly localAddress: string;
  readonly onAnswer: (answer: Answered, connection: Connection) => void;
  /** Closed or refused, whether or not anything was asked. */
  readonly onClosed: (connection: Connection) => void;
}

/** One request at a time. */
export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  #received = '';

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#socket = connect({
      host: '127.0.0.1',
      port: options.port,
      localAddress: options.localAddress,
      noDelay: true,
    });
    this.#socket.on('data', (data) => this.#read(data));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => options.onClosed(this));
  }

  send(request: Buffer): void {
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(data: Buffer): void {
    const text = this.#received === '' ? data.toString('latin1') : this.#received + data.toString('latin1');
    const end = text.indexOf('\r\n\r\n');
    const length = end < 0 ? null : /\r\ncontent-length: (\d+)/i.exec(text);
    if (length === null || text.length < end + 4 + Number(length[1])) {
      this.#received = text;
      return;
    }
    this.#received = '';
    const status = Number(text.slice(9, 12));
    const asked = status === 200 ? null : /\r\nretry-after: (\d+)/i.exec(text);
    this.#options.onAnswer({ status, retryAfterMs: Number(asked?.[1] ?? 0) * 1000 }, this);
  }
}

/** A port is taken for a minute after its connection, and there are 28,000 for each address. */
export function loopbackAddress(n: number): string {
  return `127.0.${1 + (n % 16)}.1`;
}
