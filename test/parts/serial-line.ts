/** The serial line of a machine: what ipmi_sim's SOL connects to. It keeps what was typed, and writes what a test wants. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { until } from './until.ts';

export class SerialLine {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #typed = Buffer.alloc(0);

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('data', (bytes) => {
        this.#typed = Buffer.concat([this.#typed, bytes]);
      });
    });
  }

  static async start(): Promise<SerialLine> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new SerialLine(server);
  }

  /** Everything that was typed, as the machine reads it. */
  get typed(): string {
    return this.#typed.toString('latin1');
  }

  /** As the machine does. */
  write(text: string | Buffer): void {
    for (const socket of this.#sockets) socket.write(text);
  }

  async connected(): Promise<void> {
    await until(() => this.#sockets.size > 0);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
