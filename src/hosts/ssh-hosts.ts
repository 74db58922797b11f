/** Commands on hosts, and probes of whether they answer: directly, or through the jump host. */
import type { Duplex } from 'node:stream';
import {
  AddressNotAllowed,
  type AddressRule,
  type AddressRules,
  addressForOther,
} from '../connections/address-rules.ts';
import type { SourceOfMachine } from '../connections/credential-source.ts';
import { type Endpoint, endpointText, parseEndpoint, sshEndpointOf } from '../connections/endpoint.ts';
import { KeyedMutex } from '../connections/keyed-mutex.ts';
import { LoginBreaker } from '../connections/login-breaker.ts';
import { type ConnectLimits, NotConnected, openTcp } from '../connections/tcp.ts';
import { unlessAborted } from '../connections/unless-aborted.ts';
import { notReachable } from '../domain/error/connection-words.ts';
import type { Machine } from '../domain/machine/machine.ts';
import { StepFailure } from '../engine/step-handler.ts';
import type { ProbeResult, ProviderCall, RemoteCommand, RemoteExec } from '../providers/provider.ts';
import type { DeployedHostKeys } from './host-key.ts';
import { forward, JumpConnection } from './jump-connection.ts';
import { KnownHosts, knownHostsReader } from './known-hosts.ts';
import { type CommandEnd, runCommand } from './run-command.ts';
import { hasKey, type Identity, identityOf, type SshConfiguration } from './ssh-configuration.ts';
import {
  hostUnreachable,
  openSession,
  prepareLogin,
  type SshAccessRules,
  usable,
  usableIdentity,
} from './ssh-session.ts';

const MAX_PROBE_MS = 5_000;
const NO_HOSTS = new KnownHosts('');

/** Where a host is, when its machine's spec does not say it, and the host key that it was given. */
export interface HostDirectory {
  /** Throws a StepFailure where that is not known. */
  endpointOf(call: ProviderCall): Promise<Endpoint>;
  /** Throws a StepFailure where it can't become known. */
  checkStart(machine: Machine): void;
  readonly hostKeys: DeployedHostKeys;
}

export interface SshHostsDependencies {
  readonly monotonicNow: () => number;
  readonly addresses: AddressRules;
  readonly credentials: SourceOfMachine;
  readonly directory?: HostDirectory | null;
}

export class SshHosts implements RemoteExec {
  readonly #configuration: SshConfiguration;
  readonly #rules: SshAccessRules;
  readonly #jump: JumpConnection | null;
  readonly #mutex = new KeyedMutex();
  readonly #directory: HostDirectory | null;
  readonly #rule: AddressRule;
  readonly #credentials: SourceOfMachine;

  constructor(
    configuration: SshConfiguration,
    { monotonicNow, addresses, credentials, directory = null }: SshHostsDependencies,
  ) {
    this.#configuration = configuration;
    this.#directory = directory;
    this.#rule = addresses.machines;
    this.#credentials = credentials;
    const { known_hosts_file: file, insecure_accept_any: any } = configuration;
    this.#rules = {
      knownHosts: file === undefined ? (any ? null : () => NO_HOSTS) : knownHostsReader(file),
      breaker: new LoginBreaker({ monotonicNow, credential: 'key', maxRefusals: 3 }),
      connectTimeoutMs: configuration.connect_timeout_seconds * 1000,
      keepaliveMs: configuration.keepalive_seconds * 1000,
    };
    this.#jump = jumpOf(configuration, this.#rules, addresses.servers);
  }

  /** Throws a StepFailure where the machine names no host, or the key can't be read. */
  checkStart(machine: Machine): void {
    if (this.#directory) this.#directory.checkStart(machine);
    else this.#rule.check(sshEndpointOf(machine).host);
    if (!this.#credentials(machine)) usableIdentity(this.#configuration);
  }

  /**
   * One command at a time on a host, each over a session of its own. An aborted call ends at once; the host stays locked
   * until the command is ended there and the session is closed.
   */
  async run(call: ProviderCall, command: RemoteCommand): Promise<CommandEnd> {
    const { signal } = call;
    const endpoint = (await this.#directory?.endpointOf(call)) ?? sshEndpointOf(call.machine);
    const running = this.#mutex.run(endpointText(endpoint), signal, () =>
      this.#runLocked(call, endpoint, command),
    );
    return unlessAborted(running, signal);
  }

  async #runLocked(
    call: ProviderCall,
    endpoint: Endpoint,
    { command, stdin = '', quiet }: RemoteCommand,
  ): Promise<CommandEnd> {
    const { signal } = call;
    const where = endpointText(endpoint);
    const limits = { timeoutMs: this.#rules.connectTimeoutMs, signal };
    const deployedKey = await this.#directory?.hostKeys.read(call.machine.machineId);
    const identity = await this.#identity(call.machine, signal);
    const host = { endpoint, identity, deployedKey: deployedKey ?? null };
    const login = prepareLogin(this.#rules, host, call.operatorRetry);
    try {
      return await this.#withStream(endpoint, limits, async (stream) => {
        const session = await openSession(this.#rules, login, stream, signal);
        try {
          if (!quiet) call.log(`$ ${command}`);
          const onLine = quiet ? () => {} : call.log;
          call.checkHeld();
          return await runCommand(session, { command, stdin, onLine, where, signal, quiet });
        } finally {
          session.close();
          await session.closed;
        }
      });
    } catch (error) {
      if (!(error instanceof NotConnected)) throw error;
      throw hostUnreachable(where, `${where} is ${notReachable(error.message)}`);
    }
  }

  async #identity(machine: Machine, signal: AbortSignal): Promise<Identity> {
    const source = this.#credentials(machine);
    if (!source) return usableIdentity(this.#configuration);
    const found = await source.read(machine, signal);
    return usable(() => identityOf(this.#configuration.user, found));
  }

  /** Whether something accepts connections where the machine's sshd should be. */
  async probe(machine: Machine, signal: AbortSignal): Promise<ProbeResult> {
    const endpoint = parseEndpoint(machine.spec.ssh_endpoint);
    if (!endpoint) {
      return { ok: false, reason: 'NoEndpoint', message: 'the machine has no spec.ssh_endpoint' };
    }
    const where = endpointText(endpoint);
    const timeoutMs = Math.min(this.#rules.connectTimeoutMs, MAX_PROBE_MS);
    try {
      await this.#withStream(endpoint, { timeoutMs, signal }, async (stream) => {
        stream.on('error', () => {});
        stream.destroy();
      });
      return { ok: true, reason: 'ConnectOK', message: `${where} accepts connections` };
    } catch (error) {
      if (error instanceof AddressNotAllowed) return notAllowed(error);
      if (error instanceof StepFailure) return jumpFailed(error);
      if (!(error instanceof NotConnected)) throw error;
      return { ok: false, reason: error.reason, message: `${where} is ${notReachable(error.message)}` };
    }
  }

  async #withStream<T>(
    endpoint: Endpoint,
    limits: ConnectLimits,
    work: (stream: Duplex) => Promise<T>,
  ): Promise<T> {
    if (!this.#jump) return work(await openTcp(endpoint, limits, this.#rule));
    const host = await unlessAborted(addressForOther(endpoint.host, this.#rule), limits.signal);
    return this.#jump.use(limits.signal, async (session) =>
      work(await forward(session, { ...endpoint, host }, limits)),
    );
  }
}

function jumpOf(
  configuration: SshConfiguration,
  rules: SshAccessRules,
  rule: AddressRule,
): JumpConnection | null {
  const { jump } = configuration;
  const endpoint = jump && parseEndpoint(jump.host);
  if (!jump || !endpoint) return null;
  const identity = hasKey(jump) ? jump : { ...configuration, user: jump.user };
  return new JumpConnection(rules, { endpoint, identity }, rule);
}

function notAllowed({ failure }: StepFailure): ProbeResult {
  return { ok: false, reason: 'AddressNotAllowed', message: failure.message };
}

function jumpFailed({ failure }: StepFailure): ProbeResult {
  return { ok: false, reason: 'JumpHostFailed', message: failure.message };
}
