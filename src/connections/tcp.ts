import { connect, type Socket } from 'node:net';
import { type ConnectReason, connectionProblem } from '../domain/error/connection-words.ts';
import { AddressNotAllowed, type AddressRule } from './address-rules.ts';
import type { Endpoint } from './endpoint.ts';

export interface ConnectLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

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

/** Throws NotConnected, or AddressNotAllowed before anything is connected to. */
export function openTcp(
  { host, port }: Endpoint,
  { timeoutMs, signal }: ConnectLimits,
  rule: AddressRule,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    rule.check(host);
    const socket = connect({ host, port, noDelay: true, lookup: rule.lookup });
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
    socket.once('error', (error) => fail(error instanceof AddressNotAllowed ? error : notConnected(error)));
  });
}

export function notConnected(error: unknown): NotConnected {
  const [reason, words] = connectionProblem((error as NodeJS.ErrnoException).code);
  return new NotConnected(reason, words);
}
