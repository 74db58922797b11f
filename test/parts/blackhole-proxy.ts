/**
 * A TCP port that leads to a PostgreSQL, and that can be cut off as a network is: nothing passes any more in either
 * direction, new connections get no answer, and no side is notified. What was on its way arrives when the cut is over.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

/** The same database and login by way of the port. */
export function throughPort(url: string, port: number): string {
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(port);
  through.searchParams.delete('host');
  return through.href;
}

export class BlackholeProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #pairs: Set<readonly [Socket, Socket]>;
  readonly #state: { isCut: boolean };

  private constructor(server: Server, pairs: Set<readonly [Socket, Socket]>, state: { isCut: boolean }) {
    this.#server = server;
    this.#pairs = pairs;
    this.#state = state;
    this.port = (server.address() as { port: number }).port;
  }

  /** `socketPath`: where the PostgreSQL listens. */
  static async start(socketPath: string): Promise<BlackholeProxy> {
    const pairs = new Set<readonly [Socket, Socket]>();
    const state = { isCut: false };
    const server = createServer({ allowHalfOpen: true }, (near) => {
      const far = connect({ path: socketPath, allowHalfOpen: true });
      const pair = [near, far] as const;
      pairs.add(pair);
      const close = () => {
        pairs.delete(pair);
        near.destroy();
        far.destroy();
      };
      for (const [from, to] of [pair, [far, near] as const]) {
        from.on('data', (bytes) => to.write(bytes));
        from.on('end', () => to.end());
        from.on('error', close);
        from.on('close', () => {
          if (near.destroyed && far.destroyed) pairs.delete(pair);
        });
        if (state.isCut) from.pause();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new BlackholeProxy(server, pairs, state);
  }

  cut(): void {
    this.#state.isCut = true;
    for (const socket of [...this.#pairs].flat()) socket.pause();
  }

  heal(): void {
    this.#state.isCut = false;
    for (const socket of [...this.#pairs].flat()) socket.resume();
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of [...this.#pairs].flat()) socket.destroy();
    await closed;
  }
}
