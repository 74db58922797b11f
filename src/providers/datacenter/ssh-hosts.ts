/** Commands on hosts, and looks at whether they are there: directly, or through the jump host. */
import type { Duplex } from 'node:stream';
import type { Machine } from '../../domain/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { ProviderCall, RemoteCommand, RemoteExec, Sighting } from '../provider.ts';
import { hasKey, type SshConfiguration } from './datacenter-configuration.ts';
import { type Endpoint, endpointText, parseEndpoint, sshEndpointOf } from './endpoint.ts';
import { ForwardRefused, forward, JumpLine } from './jump-line.ts';
import { knownHostsReader } from './known-hosts.ts';
import { LoginBreaker } from './login-breaker.ts';
import { type CommandEnd, runCommand } from './run-command.ts';
import { failure, openSession, type SshDoor } from './ssh-session.ts';
import { openTcp, TcpTimeout, tcpProblem } from './tcp.ts';
import { Turns } from './turns.ts';

const MAX_LOOK_MS = 5_000;

export class SshHosts implements RemoteExec {
  readonly #configuration: SshConfiguration;
  readonly #door: SshDoor;
  readonly #jump: JumpLine | null;
  readonly #turns = new Turns();

  constructor(configuration: SshConfiguration, monotonicNow: () => number) {
    this.#configuration = configuration;
    const { known_hosts_file: file } = configuration;
    this.#door = {
      knownHosts: file === undefined ? null : knownHostsReader(file),
      breaker: new LoginBreaker(monotonicNow),
      connectTimeoutMs: configuration.connect_timeout_seconds * 1000,
      keepaliveMs: configuration.keepalive_seconds * 1000,
    };
    this.#jump = jumpOf(configuration, this.#door);
  }

  /** One command at a time on a host. The session ends with its command. */
  async run(call: ProviderCall, { command, stdin = '', quiet }: RemoteCommand): Promise<CommandEnd> {
    const { signal } = call;
    signal.throwIfAborted();
    const endpoint = sshEndpointOf(call.machine);
    const where = endpointText(endpoint);
    return this.#turns.take(where, signal, () =>
      this.#withStream(endpoint, { timeoutMs: this.#door.connectTimeoutMs, signal }, async (stream) => {
        const host = { endpoint, identity: this.#configuration };
        const session = await openSession(this.#door, host, stream, signal);
        try {
          if (!quiet) call.log(`$ ${command}`);
          const onLine = quiet ? () => {} : call.log;
          return await runCommand(session, { command, stdin, onLine, where, signal });
        } finally {
          session.close();
        }
      }).catch((error: unknown) => {
        throw unreachable(error, where, signal);
      }),
    );
  }

  /** Whether something accepts connections where the machine's sshd should be. */
  async look(machine: Machine, signal: AbortSignal): Promise<Sighting> {
    const endpoint = parseEndpoint(machine.spec.ssh_endpoint);
    if (!endpoint) return seen('NoEndpoint', 'the machine has no spec.ssh_endpoint');
    const where = endpointText(endpoint);
    const timeoutMs = Math.min(this.#door.connectTimeoutMs, MAX_LOOK_MS);
    try {
      await this.#withStream(endpoint, { timeoutMs, signal }, async (stream) => {
        stream.on('error', () => {});
        stream.destroy();
      });
      return { ok: true, reason: 'ConnectOK', message: `${where} accepts connections` };
    } catch (error) {
      signal.throwIfAborted();
      return unseen(error, where);
    }
  }

  async #withStream<T>(
    endpoint: Endpoint,
    limits: { readonly timeoutMs: number; readonly signal: AbortSignal },
    work: (stream: Duplex) => Promise<T>,
  ): Promise<T> {
    if (!this.#jump) return work(await openTcp(endpoint, limits));
    return this.#jump.use(limits.signal, async (session) => work(await forward(session, endpoint, limits)));
  }
}

function jumpOf(configuration: SshConfiguration, door: SshDoor): JumpLine | null {
  const { jump } = configuration;
  const endpoint = jump && parseEndpoint(jump.host);
  if (!jump || !endpoint) return null;
  const identity = hasKey(jump) ? jump : { ...configuration, user: jump.user };
  return new JumpLine(door, { endpoint, identity });
}

function unreachable(error: unknown, where: string, signal: AbortSignal): unknown {
  if (signal.aborted || error instanceof StepFailure) return error;
  const problem = error instanceof ForwardRefused ? error.message : tcpProblem(error);
  return failure('retryable', 'UNREACHABLE', `can't connect to ${where}: ${problem}`);
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'ConnectRefused',
  ETIMEDOUT: 'ConnectTimeout',
  EHOSTUNREACH: 'NoRoute',
  ENETUNREACH: 'NoRoute',
  ENOTFOUND: 'NameNotFound',
  EAI_AGAIN: 'NameNotFound',
};

function unseen(error: unknown, where: string): Sighting {
  if (error instanceof StepFailure) return seen('JumpHostFailed', error.message);
  if (error instanceof ForwardRefused) {
    const reason = /refused/.test(error.message)
      ? 'ConnectRefused'
      : /timed out|no answer/.test(error.message)
        ? 'ConnectTimeout'
        : 'ConnectFailed';
    return seen(reason, `${where} through the jump host: ${error.message}`);
  }
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const reason = error instanceof TcpTimeout ? 'ConnectTimeout' : (REASONS[code] ?? 'ConnectFailed');
  return seen(reason, `${where}: ${tcpProblem(error)}`);
}

function seen(reason: string, message: string): Sighting {
  return { ok: false, reason, message };
}
