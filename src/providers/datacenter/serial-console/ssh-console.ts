/** A serial console that a BMC offers over SSH. Its host key is verified before the password is sent. */
import { once } from 'node:events';
import type { Client, ClientChannel } from 'ssh2';
import { AddressNotAllowed, type AddressRule, allowedAddress } from '../../../connections/address-rules.ts';
import { endpointText } from '../../../connections/endpoint.ts';
import type { LoginBreaker } from '../../../connections/login-breaker.ts';
import { NotConnected, openTcp } from '../../../connections/tcp.ts';
import { ConsoleFailure } from '../../../domain/console/console.ts';
import { notReachable } from '../../../domain/error/connection-words.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { StepFailure } from '../../../engine/step-handler.ts';
import { type KnownHosts, keyFingerprint } from '../../../hosts/known-hosts.ts';
import { sshLibrary } from '../../../hosts/ssh-library.ts';
import type { ConsoleConnection, ConsoleOptions } from '../../provider.ts';
import type { BmcLogin } from '../bmc/bmc-configuration.ts';
import type { BmcLogins } from '../bmc/bmc-logins.ts';
import type { NetworkCheck } from '../bmc/bmc-networks.ts';

export interface SshConsoleDependencies {
  readonly rule: AddressRule;
  readonly checkNetwork: NetworkCheck;
  readonly logins: BmcLogins;
  /** Null: no host can be verified, so none is connected to. */
  readonly knownHosts: (() => KnownHosts) | null;
  readonly breaker: LoginBreaker;
  readonly timeoutMs: number;
}

interface SshConsoleTarget {
  readonly host: string;
  readonly port: number;
  /** Typed into the shell to get to the console; empty: the shell is the console. */
  readonly entryCommand: string;
}

const KEEPALIVE_MS = 15_000;
const KEEPALIVE_MISSES = 3;
const TERMINAL = { term: 'vt100', cols: 80, rows: 24 } as const;

export async function openSshConsole(
  dependencies: SshConsoleDependencies,
  machine: Machine,
  { signal }: ConsoleOptions,
  target: SshConsoleTarget,
): Promise<ConsoleConnection> {
  const { rule, checkNetwork, logins, breaker } = dependencies;
  const { host, port, entryCommand } = target;
  const where = endpointText(target);
  const address = await resolved(host, rule, where);
  checkNetwork(host, address);
  const login = await logins.of(machine, signal);
  breaker.check(`${login.user}@${where}`, login.fingerprint);
  const client = await logIn(dependencies, { where, host, address, port, login, signal });
  try {
    const shell = await new Promise<ClientChannel>((resolve, reject) =>
      client.shell(TERMINAL, (error, channel) => (error ? reject(refusedShell(where)) : resolve(channel))),
    );
    if (entryCommand !== '') shell.write(`${entryCommand}\r`);
    return new SshConsole(client, shell, where);
  } catch (error) {
    client.end();
    throw error;
  }
}

async function resolved(host: string, rule: AddressRule, where: string): Promise<string> {
  try {
    return await allowedAddress(host, rule);
  } catch (error) {
    if (error instanceof AddressNotAllowed) throw error;
    throw unreachable(where, 'the name is not known');
  }
}

interface SshLogin {
  readonly where: string;
  readonly host: string;
  readonly address: string;
  readonly port: number;
  readonly login: BmcLogin;
  readonly signal: AbortSignal;
}

async function logIn(
  { knownHosts, breaker, timeoutMs, rule }: SshConsoleDependencies,
  { where, host, address, port, login, signal }: SshLogin,
): Promise<Client> {
  const known = knownHosts?.();
  const stream = await openTcp({ host: address, port }, { timeoutMs, signal }, rule).catch(
    (error: unknown) => {
      throw error instanceof NotConnected ? unreachable(where, error.message) : error;
    },
  );
  const client = new (sshLibrary().Client)();
  const account = `${login.user}@${where}`;
  let refusal: StepFailure | null = null;
  return new Promise((resolve, reject) => {
    const stop = () => fail(signal.reason);
    const fail = (reason: unknown) => {
      signal.removeEventListener('abort', stop);
      client.end();
      stream.destroy();
      reject(reason);
    };
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    client.once('ready', () => {
      signal.removeEventListener('abort', stop);
      breaker.accepted(account);
      resolve(client);
    });
    // Stays for its whole life: an error event without a listener would end the process.
    client.on('error', (error: Error & { level?: string }) => {
      if (error.level === 'client-authentication') {
        breaker.refused(account, login.fingerprint);
        fail(refused(where));
      } else fail(refusal ?? unreachable(where, 'the SSH connection failed'));
    });
    client.once('close', () => fail(refusal ?? unreachable(where, 'it closed the connection')));
    client.on('keyboard-interactive', (_name, _instructions, _language, prompts, answer) =>
      answer(prompts.map(() => login.password)),
    );
    client.connect({
      sock: stream,
      username: login.user,
      password: login.password,
      tryKeyboard: true,
      hostVerifier: (key: Buffer) => {
        const isKnown = known?.verdict({ host, port }, key).ok === true;
        if (!isKnown) refusal = wrongKey(where, key);
        return isKnown;
      },
      readyTimeout: timeoutMs,
      keepaliveInterval: KEEPALIVE_MS,
      keepaliveCountMax: KEEPALIVE_MISSES,
    });
  });
}

class SshConsole implements ConsoleConnection {
  readonly way = 'SSH of the BMC';
  /** The library has no message for it. */
  readonly canBreak = false;
  readonly isLeftOpen = false;
  readonly output: AsyncIterable<Uint8Array>;
  readonly #client: Client;
  readonly #shell: ClientChannel;
  readonly #where: string;
  readonly #closed: Promise<void>;
  #isClosing = false;

  constructor(client: Client, shell: ClientChannel, where: string) {
    this.#client = client;
    this.#shell = shell;
    this.#where = where;
    this.#closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    // The connection may end without an end of the channel.
    client.once('close', () => shell.push(null));
    shell.stderr.resume();
    this.output = this.#read();
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#shell.writable && !this.#shell.write(bytes)) {
      await Promise.race([once(this.#shell, 'drain'), this.#closed]);
    }
  }

  async sendBreak(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#client.end();
    await this.#closed;
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of this.#shell) yield chunk as Buffer;
    } catch (error) {
      if (!this.#isClosing) throw error;
    }
    if (!this.#isClosing)
      throw new ConsoleFailure(
        'CONSOLE_ENDED',
        `the BMC ${this.#where} ended the SSH connection to its console`,
      );
  }
}

function unreachable(where: string, words: string): StepFailure {
  const message = `the console of the BMC at ${where} is ${notReachable(words)}`;
  const outage = { upstream: 'the BMC', name: where, effect: 'none' } as const;
  return new StepFailure({ class: 'retryable', code: 'UNREACHABLE', message }, outage);
}

function refused(where: string): StepFailure {
  const message = `the console of the BMC at ${where} does not accept our user and password`;
  return new StepFailure({ class: 'needs_human', code: 'AUTHENTICATION_FAILED', message });
}

function wrongKey(where: string, key: Buffer): StepFailure {
  const message = `the key of the BMC at ${where}, ${keyFingerprint(key)}, is not among bmc.console.ssh_known_hosts`;
  return new StepFailure({ class: 'needs_human', code: 'HOST_KEY_MISMATCH', message });
}

function refusedShell(where: string): ConsoleFailure {
  return new ConsoleFailure(
    'CONSOLE_NOT_OFFERED',
    `the BMC at ${where} opens no shell for its console over SSH`,
  );
}
