/** HTTP/1.1 requests in a closed loop, with as little of a client as will do: what is measured is the server. */
import { connect, type Socket } from 'node:net';

export interface HttpLoad {
  readonly port: number;
  readonly connections: number;
  readonly count: number;
  readonly request: (index: number) => Buffer;
}

export function postJson(path: string, token: string, body: string): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nConnect-Protocol-Version: 1\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** Requests a second. An answer other than 200 ends it. */
export async function httpPerSecond({ port, connections, count, request }: HttpLoad): Promise<number> {
  let next = 0;
  const startedAt = performance.now();
  const lane = async () => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    try {
      while (next < count) {
        const index = next;
        next += 1;
        const status = await exchange(socket, request(index));
        if (status !== 200) throw new Error(`HTTP request ${index} was answered with ${status}`);
      }
    } finally {
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  return count / ((performance.now() - startedAt) / 1000);
}

function exchange(socket: Socket, request: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let received = '';
    const settle = (act: () => void) => {
      socket.off('data', onData);
      socket.off('error', onError);
      socket.off('close', onClose);
      act();
    };
    const onError = (error: Error) => settle(() => reject(error));
    const onClose = () => settle(() => reject(new Error('the server closed the connection')));
    const onData = (data: Buffer) => {
      received += data.toString('latin1');
      if (isComplete(received)) settle(() => resolve(Number(received.slice(9, 12))));
    };
    socket.on('data', onData);
    socket.on('error', onError);
    socket.on('close', onClose);
    socket.write(request);
  });
}

/** With a length, or in chunks. */
export function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end + 2));
  return length === null ? text.endsWith('\r\n0\r\n\r\n') : text.length >= end + 4 + Number(length[1]);
}
