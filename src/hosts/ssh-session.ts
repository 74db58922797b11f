/**
 * One authenticated connection to one host. The host's key is always checked before we show ours; every way in which
 * a connection can fail to open has its failure class here.
 */
import type { Duplex } from 'node:stream';
import type { AuthenticationType, Client, PublicKeyAuthMethod, ServerHostKeyAlgorithm } from 'ssh2';
import { CredentialProblem } from '../connections/credential-reference.ts';
import { type Endpoint, endpointText } from '../connections/endpoint.ts';
import type { LoginBreaker } from '../connections/login-breaker.ts';
import { notConnected } from '../connections/tcp.ts';
import { notReachable } from '../domain/error/connection-words.ts';
import { type ClassOf, type Failure, failureOf } from '../domain/error/failure.ts';
import type { FailureCode } from '../domain/error/failure-code.ts';
import { StepFailure } from '../engine/step-handler.ts';
import { type KnownHosts, keyFingerprint } from './known-hosts.ts';
import { type Identity, type IdentityConfiguration, readIdentity } from './ssh-configuration.ts';
import { sshLibrary } from './ssh-library.ts';

export interface SshSession {
  readonly client: Client;
  /** Resolves when the connection is gone, whichever side closed it. */
  readonly closed: Promise<void>;
  close(): void;
}

export interface Host {
  readonly endpoint: Endpoint;
  readonly identity: Identity;
  /** The host key that its deployment gave it, beside those that are known of it. */
  readonly deployedKey?: string | null;
}

export interface SshAccessRules {
  /** Null: any key is taken for the host's. */
  readonly knownHosts: (() => KnownHosts) | null;
  readonly breaker: LoginBreaker;
  readonly connectTimeoutMs: number;
  readonly keepaliveMs: number;
}

const KEEPALIVE_MISSES = 3;
const CLOSE_GRACE_MS = 500;

/** Key types as known_hosts has them, and what can be agreed on for each. */
const HOST_KEY_ALGORITHMS: ReadonlyArray<{
  readonly type: string;
  readonly algorithms: readonly ServerHostKeyAlgorithm[];
}> = [
  { type: 'ssh-ed25519', algorithms: ['ssh-ed25519'] },
  { type: 'ecdsa-sha2-nistp256', algorithms: ['ecdsa-sha2-nistp256'] },
  { type: 'ecdsa-sha2-nistp384', algorithms: ['ecdsa-sha2-nistp384'] },
  { type: 'ecdsa-sha2-nistp521', algorithms: ['ecdsa-sha2-nistp521'] },
  { type: 'ssh-rsa', algorithms: ['rsa-sha2-512', 'rsa-sha2-256'] },
];

/** Everything that can be refused before a connection is opened. */
export interface Login {
  readonly endpoint: Endpoint;
  readonly identity: Identity;
  readonly known: KnownHosts | null;
}

export function prepareLogin(
  rules: SshAccessRules,
  { endpoint, identity, deployedKey }: Host,
  operatorRetry?: string,
): Login {
  rules.breaker.check(accountOf({ endpoint, identity }), identity.fingerprint, operatorRetry);
  const known = knownHostsOf(rules);
  return { endpoint, identity, known: deployedKey ? (known?.with(endpoint, deployedKey) ?? null) : known };
}

/** Logs in over a stream that is connected to the host; the stream ends with the session, or with this call's failure. */
export async function openSession(
  rules: SshAccessRules,
  login: Login,
  stream: Duplex,
  signal: AbortSignal,
): Promise<SshSession> {
  try {
    return await logIn(rules, login, stream, signal);
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

function accountOf({ endpoint, identity }: Pick<Login, 'endpoint' | 'identity'>): string {
  return `${identity.user}@${endpointText(endpoint)}`;
}

function logIn(
  rules: SshAccessRules,
  login: Login,
  stream: Duplex,
  signal: AbortSignal,
): Promise<SshSession> {
  const { endpoint, identity, known } = login;
  const where = endpointText(endpoint);
  const account = accountOf(login);
  const client = new (sshLibrary().Client)();
  let refusal: StepFailure | null = null;
  let hasHandshake = false;
  return new Promise((resolve, reject) => {
    const closed = new Promise<void>((gone) => client.once('close', gone));
    const session = sessionOf(client, stream, closed);
    const settle = (finish: () => void) => {
      signal.removeEventListener('abort', stop);
      finish();
    };
    const fail = (reason: unknown) =>
      settle(() => {
        session.close();
        reject(reason);
      });
    const stop = () => fail(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    client.once('handshake', () => {
      hasHandshake = true;
    });
    client.once('ready', () => {
      rules.breaker.accepted(account);
      settle(() => resolve(session));
    });
    // Stays for the session's life: an error event without a listener would end the process.
    client.on('error', (error: Error & { level?: string; code?: unknown }) => {
      const refused = hasHandshake && isRefusal(error);
      if (refused) rules.breaker.refused(account, identity.fingerprint);
      fail(refusal ?? (refused ? authenticationFailed(account) : unreachable(where, error)));
    });
    closed.then(() => fail(refusal ?? unreachable(where, new Error('closed'))));
    try {
      client.connect({
        sock: stream,
        username: identity.user,
        authHandler: publicKeyOnly(identity),
        hostVerifier: (key: Buffer) => {
          refusal = checkHostKey(known, endpoint, key);
          return refusal === null;
        },
        algorithms: { serverHostKey: hostKeyOrder(known, endpoint) },
        readyTimeout: rules.connectTimeoutMs,
        keepaliveInterval: rules.keepaliveMs,
        keepaliveCountMax: KEEPALIVE_MISSES,
      });
    } catch {
      fail(failure('needs_human', 'CREDENTIAL_UNREADABLE', "the SSH key can't be used"));
    }
  });
}

/** The key as it was parsed already; the library's types know of names only in such a list. */
function publicKeyOnly({ user, key }: Identity): AuthenticationType[] {
  const method: PublicKeyAuthMethod = { type: 'publickey', username: user, key };
  return [method] as unknown as AuthenticationType[];
}

function sessionOf(client: Client, stream: Duplex, closed: Promise<void>): SshSession {
  return {
    client,
    closed,
    close() {
      client.end();
      const timer = setTimeout(() => stream.destroy(), CLOSE_GRACE_MS);
      closed.then(() => {
        clearTimeout(timer);
        stream.destroy();
      });
    },
  };
}

export function usableIdentity(given: IdentityConfiguration): Identity {
  return usable(() => readIdentity(given));
}

export function usable(read: () => Identity): Identity {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CredentialProblem)) throw error;
    throw failure('needs_human', 'CREDENTIAL_UNREADABLE', error.message);
  }
}

function knownHostsOf(rules: SshAccessRules): KnownHosts | null {
  try {
    return rules.knownHosts?.() ?? null;
  } catch (error) {
    if (!(error instanceof CredentialProblem)) throw error;
    throw failure('needs_human', 'KNOWN_HOSTS_UNREADABLE', error.message);
  }
}

const HOST_KEY_WORDS = {
  unknown: 'is not among the known hosts',
  changed: 'is not the one that is known of this host',
  revoked: 'is revoked',
} as const;

function checkHostKey(known: KnownHosts | null, endpoint: Endpoint, key: Buffer): StepFailure | null {
  const verdict = known?.verdict(endpoint, key) ?? { ok: true };
  if (verdict.ok) return null;
  const message = `the key of ${endpointText(endpoint)}, ${keyFingerprint(key)}, ${HOST_KEY_WORDS[verdict.problem]}`;
  return failure('needs_human', 'HOST_KEY_MISMATCH', message);
}

/** The algorithms of the keys that we know of this host first, or it would show a key that we can't check. */
function hostKeyOrder(known: KnownHosts | null, endpoint: Endpoint): ServerHostKeyAlgorithm[] {
  const types = new Set(known?.keysOf(endpoint).map(({ type }) => type));
  const first = HOST_KEY_ALGORITHMS.filter(({ type }) => types.has(type));
  const rest = HOST_KEY_ALGORITHMS.filter(({ type }) => !types.has(type));
  return [...first, ...rest].flatMap(({ algorithms }) => algorithms);
}

/** The host refused our key, or closed the connection because it had refused it too often. */
function isRefusal(error: Error & { level?: string; code?: unknown }): boolean {
  if (error.level === 'client-authentication') return true;
  return typeof error.code === 'number' && /authenticat/i.test(error.message);
}

function authenticationFailed(account: string): StepFailure {
  return failure('needs_human', 'AUTHENTICATION_FAILED', `${account} does not accept our key`);
}

function unreachable(where: string, error: Error & { level?: string }): StepFailure {
  if (/no matching/i.test(error.message)) {
    const message = `${where} and we have no algorithm in common`;
    return failure('permanent', 'SSH_HANDSHAKE_FAILED', message);
  }
  const words =
    error.level === 'client-socket'
      ? notConnected(error).message
      : (SSH_WORDS[error.message] ?? 'the SSH handshake failed');
  return hostUnreachable(where, `${where} is ${notReachable(words)}`);
}

const SSH_WORDS: Readonly<Record<string, string>> = {
  'Timed out while waiting for handshake': 'no SSH handshake in time',
  'Connection lost before handshake': 'it closed the connection before the SSH handshake',
  closed: 'it closed the connection',
};

/** A host that does not answer, before anything was sent to it: the engine waits for it. */
export function hostUnreachable(name: string, message: string, upstream = 'the SSH host'): StepFailure {
  const away: Failure = { class: 'retryable', code: 'UNREACHABLE', message };
  return new StepFailure(away, { upstream, name, effect: 'none' });
}

export function failure<C extends FailureCode>(
  failureClass: ClassOf<C>,
  code: C,
  message: string,
): StepFailure {
  return new StepFailure(failureOf(failureClass, code, message));
}
