import { connect, type Socket } from 'node:net';
import type { Endpoint } from './endpoint.ts';

export interface ConnectLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type ConnectReason =
  | 'ConnectRefused'
  | 'ConnectTimeout'
  | 'ConnectFailed'
  | 'NoRoute'
  | 'NameNotFound';

/** The message is a phrase for people. */
export class NotConnected extends Error {
  readonly reason: ConnectReason;

  constructor(reason: ConnectReason, words: string) {
    super(words);
    this.name = 'NotConnected';
    this.reason = reason;
  }
}

export function noAnswer(timeoutMs: number): NotConnected {
  return new NotConnected('ConnectTimeout', `no answer within ${timeoutMs / 1000} s`);
}

export function openTcp({ host, port }: Endpoint, { timeoutMs, signal }: ConnectLimits): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = connect({ host, port, noDelay: true });
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      socket.removeAllListeners();
      // An error event without a listener would end the process: a socket that is given up may still fail, and one that
      // is in use gets its own listeners only a moment later.
      socket.on('error', () => {});
      finish();
    };
    const fail = (reason: unknown) =>
      settle(() => {
        socket.destroy();
        reject(reason);
      });
    const stop = () => fail(signal.reason);
    const timer = setTimeout(() => fail(noAnswer(timeoutMs)), timeoutMs);
    signal.addEventListener('abort', stop, { once: true });
    socket.once('connect', () => settle(() => resolve(socket)));
    socket.once('error', (error) => fail(notConnected(error)));
  });
}

export function notConnected(error: unknown): NotConnected {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const [reason, words] = PROBLEMS[code] ?? ['ConnectFailed', code === '' ? 'the connection failed' : code];
  return new NotConnected(reason, words);
}

const PROBLEMS: Readonly<Record<string, readonly [ConnectReason, string]>> = {
  ECONNREFUSED: ['ConnectRefused', 'connection refused'],
  ECONNRESET: ['ConnectFailed', 'connection reset'],
  EHOSTUNREACH: ['NoRoute', 'no route to the host'],
  ENETUNREACH: ['NoRoute', 'no route to the network'],
  ENOTFOUND: ['NameNotFound', 'the name is not known'],
  EAI_AGAIN: ['NameNotFound', 'the name could not be looked up'],
  ETIMEDOUT: ['ConnectTimeout', 'no answer'],
};
