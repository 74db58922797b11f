/** A separate port in front of a host, so that no two machines share an endpoint, and each can be cut off. */

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

export interface TcpRelay {
  readonly endpoint: string;
  /** Where connections go from now on; null: they are closed at once. */
  leadTo(port: number | null): void;
  /** Ends the connections that are open. */
  cut(): void;
  stop(): Promise<void>;
}

export async function startTcpRelay(target: number | null): Promise<TcpRelay> {
  let port = target;
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket));
    return socket;
  };
  const server = createServer((from) => {
    keep(from);
    if (port === null) return void from.destroy();
    const to = keep(connect(port, '127.0.0.1'));
    from.pipe(to).pipe(from);
    from.on('close', () => to.destroy());
    to.on('close', () => from.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo: (next) => {
      port = next;
    },
    cut,
    stop: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
