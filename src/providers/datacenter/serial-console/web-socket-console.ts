/** A serial console that a BMC offers over a WebSocket of its web server, whose certificate was verified. */
import type { WebSocketStream } from '../../../connections/web-socket.ts';
import { ConsoleFailure } from '../../../domain/console/console.ts';
import type { ConsoleConnection } from '../../provider.ts';

/** What the other side may say of the reason. */
const MAX_REASON = 200;

export class WebSocketConsole implements ConsoleConnection {
  readonly way = 'WebSocket of the BMC';
  /** It carries bytes, and nothing else. */
  readonly canBreak = false;
  readonly isLeftOpen = false;
  readonly output: AsyncIterable<Uint8Array>;
  readonly #socket: WebSocketStream;
  readonly #where: string;
  #isClosing = false;

  constructor(socket: WebSocketStream, where: string) {
    this.#socket = socket;
    this.#where = where;
    this.output = this.#read();
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#socket.write(bytes);
  }

  async sendBreak(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#socket.close();
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    yield* this.#socket.output();
    if (this.#isClosing) return;
    const reason = this.#socket.closeReason.replace(/[\p{Cc}\p{Cs}]/gu, ' ').slice(0, MAX_REASON);
    throw new ConsoleFailure(
      'CONSOLE_ENDED',
      `the BMC ${this.#where} ended the WebSocket of its console${reason === '' ? '' : `: ${reason}`}`,
    );
  }
}
