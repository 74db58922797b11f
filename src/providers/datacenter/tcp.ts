import { connect, type Socket } from 'node:net';
import type { Endpoint } from './endpoint.ts';

export interface TcpLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export class TcpTimeout extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs / 1000} s`);
    this.name = 'TcpTimeout';
  }
}

export function openTcp({ host, port }: Endpoint, { timeoutMs, signal }: TcpLimits): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = connect({ host, port, noDelay: true });
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      socket.removeAllListeners();
      finish();
    };
    const fail = (reason: unknown) =>
      settle(() => {
        // A socket that is given up may still have an error to tell.
        socket.on('error', () => {});
        socket.destroy();
        reject(reason);
      });
    const stop = () => fail(signal.reason);
    const timer = setTimeout(() => fail(new TcpTimeout(timeoutMs)), timeoutMs);
    signal.addEventListener('abort', stop, { once: true });
    socket.once('connect', () =>
      settle(() => {
        // Until its user listens, which may be a moment later.
        socket.on('error', () => {});
        resolve(socket);
      }),
    );
    socket.once('error', fail);
  });
}

/** A few words for what went wrong, such as a person would use. */
export function tcpProblem(error: unknown): string {
  if (error instanceof TcpTimeout) return error.message;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return TCP_WORDS[code] ?? (code === '' ? 'the connection failed' : code);
}

const TCP_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name could not be looked up',
  ETIMEDOUT: 'no answer',
  EPIPE: 'connection closed',
};
