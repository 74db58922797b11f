/**
 * The connection to a jump host, shared by all calls that go through it at the same time: one login, however many hosts
 * are behind it. It is opened for the first call, and closed a few seconds after the last one ends.
 */
import type { Duplex } from 'node:stream';
import type { AddressRule } from '../connections/address-rules.ts';
import { type Endpoint, endpointText } from '../connections/endpoint.ts';
import { type ConnectLimits, NotConnected, noAnswer, openTcp } from '../connections/tcp.ts';
import { unlessAborted } from '../connections/unless-aborted.ts';
import { notReachable } from '../domain/error/connection-words.ts';
import type { IdentityConfiguration } from './ssh-configuration.ts';
import {
  hostUnreachable,
  openSession,
  prepareLogin,
  type SshAccessRules,
  type SshSession,
  usableIdentity,
} from './ssh-session.ts';

export interface JumpHost {
  readonly endpoint: Endpoint;
  readonly identity: IdentityConfiguration;
}

const IDLE_MS = 5_000;

export class JumpConnection {
  readonly #rules: SshAccessRules;
  readonly #host: JumpHost;
  readonly #rule: AddressRule;
  #session: Promise<SshSession> | null = null;
  #users = 0;
  #idle: NodeJS.Timeout | null = null;

  constructor(rules: SshAccessRules, host: JumpHost, rule: AddressRule) {
    this.#rules = rules;
    this.#host = host;
    this.#rule = rule;
  }

  async use<T>(signal: AbortSignal, work: (session: SshSession) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#idle) clearTimeout(this.#idle);
    this.#users++;
    try {
      return await work(await unlessAborted(this.#open(), signal));
    } finally {
      this.#users--;
      if (this.#users === 0) this.#closeSoon();
    }
  }

  #open(): Promise<SshSession> {
    if (this.#session) return this.#session;
    const opening = connect(this.#rules, this.#host, this.#rule);
    this.#session = opening;
    const forget = () => {
      if (this.#session === opening) this.#session = null;
    };
    opening.then((session) => session.closed.then(forget), forget);
    return opening;
  }

  #closeSoon(): void {
    this.#idle = setTimeout(() => {
      const session = this.#session;
      this.#session = null;
      session?.then(({ close }) => close()).catch(() => {});
    }, IDLE_MS);
  }
}

/** No single call aborts it; the connect time-out ends it. */
async function connect(rules: SshAccessRules, host: JumpHost, rule: AddressRule): Promise<SshSession> {
  const { signal } = new AbortController();
  const login = prepareLogin(rules, { endpoint: host.endpoint, identity: usableIdentity(host.identity) });
  let socket: Duplex;
  try {
    socket = await openTcp(host.endpoint, { timeoutMs: rules.connectTimeoutMs, signal }, rule);
  } catch (error) {
    if (!(error instanceof NotConnected)) throw error;
    const where = endpointText(host.endpoint);
    throw hostUnreachable(where, `the jump host ${where} is ${notReachable(error.message)}`, 'the jump host');
  }
  return openSession(rules, login, socket, signal);
}

/** A stream to the endpoint, through the session. */
export function forward(
  { client, closed }: SshSession,
  endpoint: Endpoint,
  { timeoutMs, signal }: ConnectLimits,
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    let over = false;
    const settle = (finish: () => void) => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      finish();
    };
    const stop = () => settle(() => reject(signal.reason));
    const refuse = (problem: NotConnected) => settle(() => reject(problem));
    const timer = setTimeout(() => refuse(noAnswer(timeoutMs)), timeoutMs);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    closed.then(() => refuse(CLOSED));
    try {
      client.forwardOut('127.0.0.1', 0, endpoint.host, endpoint.port, (error, channel) => {
        if (error) return refuse(forwardProblem(error));
        // Too late: the caller has given up.
        if (over) return channel.destroy();
        channel.on('error', () => {});
        settle(() => resolve(channel));
      });
    } catch {
      refuse(CLOSED);
    }
  });
}

const CLOSED = new NotConnected('ConnectFailed', 'the jump host closed the connection');

/** From the jump host's own message. */
function forwardProblem({ message }: Error): NotConnected {
  if (/prohibited/i.test(message)) {
    return new NotConnected('ConnectFailed', 'the jump host does not allow it');
  }
  if (/refused/i.test(message)) return new NotConnected('ConnectRefused', 'refused, says the jump host');
  if (/timed out/i.test(message)) return new NotConnected('ConnectTimeout', 'no answer, says the jump host');
  return new NotConnected('ConnectFailed', 'the jump host could not connect to it');
}
