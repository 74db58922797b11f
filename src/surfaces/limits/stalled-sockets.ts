/**
 * Closes connections whose client takes nothing of what waits for it: a list that no one reads would stay in memory for as
 * long as the client likes.
 */
import type { Server, Socket } from 'node:net';

const SWEEPS = 4;

interface Waiting {
  /** Bytes that the system has taken. */
  readonly sent: number;
  readonly sweeps: number;
}

/** `stalledMs`: how long a client may take nothing of what waits for it. Returns what ends it. */
export function closeStalledSockets(server: Server, stalledMs: number): () => void {
  const sockets = new Map<Socket, Waiting>();
  const add = (socket: Socket) => {
    sockets.set(socket, { sent: 0, sweeps: 0 });
    socket.once('close', () => sockets.delete(socket));
  };
  server.on('connection', add);
  server.on('secureConnection', add);
  const timer = setInterval(() => {
    for (const [socket, before] of sockets) {
      const pending = socket.writableLength;
      const sent = socket.bytesWritten - pending;
      const sweeps = pending > 0 && sent === before.sent ? before.sweeps + 1 : 0;
      sockets.set(socket, { sent, sweeps });
      if (sweeps >= SWEEPS) socket.destroy();
    }
  }, stalledMs / SWEEPS).unref();
  return () => clearInterval(timer);
}
