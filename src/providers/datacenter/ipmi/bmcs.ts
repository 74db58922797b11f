/**
 * Every request to a BMC goes through here: one caller at a time for each BMC, because many have few sessions and mix up
 * concurrent commands. Operations wait for the lock, probes do not: a BMC that an operation is using answers.
 * After one refused login a BMC is left alone, because many lock the account after a few.
 *
 * Every command that is sent here may be sent again, and its effect can be observed. So a command without an answer is
 * retryable.
 */
import { AddressNotAllowed, type AddressRule, allowedAddress } from '../../../connections/address-rules.ts';
import { type Endpoint, endpointText, ipmiEndpointOf } from '../../../connections/endpoint.ts';
import { KeyedMutex, Wanted } from '../../../connections/keyed-mutex.ts';
import { LoginBreaker } from '../../../connections/login-breaker.ts';
import { unlessAborted } from '../../../connections/unless-aborted.ts';
import { notReachable } from '../../../domain/error/connection-words.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import type { Outage } from '../../../engine/outage.ts';
import { StepFailure } from '../../../engine/step-handler.ts';
import type { ProbeResult, ProviderCall } from '../../provider.ts';
import { type BmcConfiguration, type BmcLogin, checkedForIpmi } from '../bmc/bmc-configuration.ts';
import { type BmcLogins, readable } from '../bmc/bmc-logins.ts';
import { isAddressRefused, type NetworkCheck } from '../bmc/bmc-networks.ts';
import { type IpmiReason, ipmiFailure } from './ipmi-failure.ts';
import { type IpmitoolEnd, runIpmitool } from './ipmitool.ts';

/** A BMC whose lock we hold. Both methods return what ipmitool printed, or throw a StepFailure. */
export interface Bmc {
  readonly where: string;
  /** A command that changes nothing. */
  ask(...command: string[]): Promise<string>;
  /** The same without details, which some commands of ipmitool print wrongly; only after one that has logged in. */
  askBriefly(...command: string[]): Promise<string>;
  /** A command that changes something: sent only while we hold the operation. */
  send(...command: string[]): Promise<string>;
  /** The same for a command line with a secret in it, which no process listing shows. */
  sendHidden(commandLine: string): Promise<string>;
}

/** What a program needs to log in to a BMC whose lock we hold. */
export interface IpmiSession {
  readonly where: string;
  /** Of ipmitool, before its command. */
  readonly args: readonly string[];
  readonly password: string;
  readonly limitMs: number;
  /** Another command, in a session of its own. */
  run(...command: string[]): Promise<string>;
  /** The BMC took the login. */
  accepted(): void;
  /** What the end of the program means. */
  failure(command: string, end: IpmitoolEnd): BmcFailure;
}

export type Power = 'on' | 'off';

/** How long a command may take, and how often it is repeated meanwhile; ipmitool waits longer each time. */
interface CommandTiming {
  readonly limitMs: number;
  readonly answerSeconds: number;
  readonly retries: number;
}

interface CommandOptions {
  readonly machine: Machine;
  readonly timing: CommandTiming;
  readonly signal: AbortSignal;
  readonly operatorRetry?: string | undefined;
  readonly details?: 'none';
  /** The machine's own without it. */
  readonly login?: BmcLogin | null;
  readonly stdin?: string;
}

/** For a probe: a BMC that does not answer has had two chances after 2 s. */
const PROBE: CommandTiming = { limitMs: 4_000, answerSeconds: 1, retries: 1 };

/** Without it ipmitool prints the same for every failed login, whether the BMC is dead or the password wrong. */
const DETAILS = ['-v'] as const;

const PRIVILEGES = { administrator: 'ADMINISTRATOR', operator: 'OPERATOR' } as const;

export interface BmcsDependencies {
  readonly monotonicNow: () => number;
  readonly rule: AddressRule;
  readonly logins: BmcLogins;
  readonly checkNetwork: NetworkCheck;
}

export class Bmcs {
  readonly #configuration: BmcConfiguration;
  readonly #checkNetwork: NetworkCheck;
  readonly #rule: AddressRule;
  readonly #logins: BmcLogins;
  readonly #breaker: LoginBreaker;
  readonly #timing: CommandTiming;
  readonly #mutex = new KeyedMutex();

  constructor(
    configuration: BmcConfiguration,
    { monotonicNow, rule, logins, checkNetwork }: BmcsDependencies,
  ) {
    this.#rule = rule;
    this.#logins = logins;
    this.#configuration = configuration;
    this.#checkNetwork = checkNetwork;
    this.#breaker = new LoginBreaker({ monotonicNow, credential: 'password', maxRefusals: 1 });
    const seconds = configuration.timeout_seconds;
    // With two retries a BMC that does not answer takes ipmitool 4 n + 2 seconds: it should give up by itself, before we end it.
    const answerSeconds = Math.max(1, Math.floor((seconds - 2) / 4));
    this.#timing = { limitMs: seconds * 1000, answerSeconds, retries: seconds < 6 ? 1 : 2 };
  }

  /**
   * The work has the BMC to itself, with the machine's own login or another. An aborted call ends at once; the BMC stays locked until
   * its session is closed.
   */
  async use<T>(
    call: ProviderCall,
    work: (bmc: Bmc) => Promise<T>,
    login: BmcLogin | null = null,
  ): Promise<T> {
    const { machine, signal } = call;
    const endpoint = await this.#resolve(ipmiEndpointOf(machine), signal);
    const where = endpointText(endpoint);
    const bmc = this.#bmcAt(endpoint, {
      machine,
      timing: this.#timing,
      signal,
      operatorRetry: call.operatorRetry,
      checkHeld: call.checkHeld,
      login: login === null ? null : readable(() => checkedForIpmi(login)),
    });
    return unlessAborted(
      this.#mutex.run(where, signal, () => work(bmc)),
      signal,
    );
  }

  /** Reads as long as no other caller wants the BMC: then the command under way is ended, and the answer is null. */
  async readUnlessWanted<T>(
    machine: Machine,
    signal: AbortSignal,
    read: (bmc: Bmc) => Promise<T>,
  ): Promise<T | null> {
    const endpoint = await this.#resolve(ipmiEndpointOf(machine), signal);
    const reading = this.#mutex.tryRun(endpointText(endpoint), signal, async (wanted) => {
      const either = AbortSignal.any([signal, wanted]);
      const checkHeld = () => {
        throw new TypeError('a reading changes nothing');
      };
      try {
        return await read(
          this.#bmcAt(endpoint, { machine, timing: this.#timing, signal: either, checkHeld }),
        );
      } catch (error) {
        if (wanted.aborted && !signal.aborted && wanted.reason instanceof Wanted) return null;
        throw error;
      }
    });
    return unlessAborted(reading, signal);
  }

  #bmcAt(
    endpoint: Endpoint,
    { checkHeld, ...options }: CommandOptions & { readonly checkHeld: () => void },
  ): Bmc {
    const run = (command: readonly string[], more: Partial<CommandOptions> = {}) =>
      this.#run(endpoint, command, { ...options, ...more });
    return {
      where: endpointText(endpoint),
      ask: (...command) => run(command),
      askBriefly: (...command) => run(command, { details: 'none' }),
      send: async (...command) => {
        checkHeld();
        return run(command);
      },
      sendHidden: async (commandLine) => {
        checkHeld();
        return run(COMMANDS_OF_STDIN, { stdin: `${commandLine}\n` });
      },
    };
  }

  /** For a program that stays in its session: the BMC is ours until `start` returns. */
  async startSession<T>(
    machine: Machine,
    { endpoint, signal }: { readonly endpoint: Endpoint; readonly signal: AbortSignal },
    start: (session: IpmiSession) => Promise<T>,
  ): Promise<T> {
    const resolved = await this.#resolve(endpoint, signal);
    const where = endpointText(resolved);
    const login = await this.#login(machine, signal);
    const account = `${login.user}@${where}`;
    this.#breaker.check(account, login.fingerprint);
    const session: IpmiSession = {
      where,
      args: [...this.#options(resolved, login, this.#timing), ...DETAILS],
      password: login.password,
      limitMs: this.#timing.limitMs,
      run: (...command) => this.#run(resolved, command, { machine, timing: this.#timing, signal }),
      accepted: () => this.#breaker.accepted(account),
      failure: (command, end) => {
        const { reason, failure } = ipmiFailure(where, command, end);
        if (reason === 'AuthenticationFailed') this.#breaker.refused(account, login.fingerprint);
        return new BmcFailure(reason, failure, where);
      },
    };
    return this.#mutex.run(where, signal, () => start(session));
  }

  /** One command that changes nothing. Null: an operation is using the BMC. */
  async tryAsk(
    machine: Machine,
    { endpoint, signal }: { readonly endpoint: Endpoint; readonly signal: AbortSignal },
    command: readonly string[],
  ): Promise<string | null> {
    const resolved = await this.#resolve(endpoint, signal);
    const where = endpointText(resolved);
    if (this.#mutex.isLocked(where)) return null;
    return this.#mutex.run(where, signal, () =>
      this.#run(resolved, command, { machine, timing: PROBE, signal }),
    );
  }

  /** Null: an operation is using it. */
  async probe(machine: Machine, signal: AbortSignal): Promise<ProbeResult | null> {
    try {
      const endpoint = await this.#resolve(ipmiEndpointOf(machine), signal);
      const where = endpointText(endpoint);
      if (this.#mutex.isLocked(where)) return null;
      const asking = this.#mutex.run(where, signal, () =>
        this.#run(endpoint, POWER_STATUS, { machine, timing: PROBE, signal }),
      );
      const power = parsePower(where, await unlessAborted(asking, signal));
      return { ok: true, reason: 'BmcOK', message: `the BMC ${where} answers; power is ${power}` };
    } catch (error) {
      const reason = error instanceof StepFailure ? probeReason(error) : null;
      if (reason === null) throw error;
      return { ok: false, reason, message: (error as StepFailure).failure.message };
    }
  }

  /** Throws a StepFailure where the spec or the configuration rules the BMC out. A name is resolved when it is used. */
  checkStart(machine: Machine): void {
    const { host } = ipmiEndpointOf(machine);
    this.#rule.check(host);
    this.#checkNetwork(host, host);
  }

  /** By address, so that a BMC with two names has one lock, and the address that was checked is the one that is called. */
  async #resolve({ host, port }: Endpoint, signal: AbortSignal): Promise<Endpoint> {
    let address: string;
    try {
      address = await unlessAborted(allowedAddress(host, this.#rule), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AddressNotAllowed) throw error;
      const message = `the BMC ${host} is ${notReachable('the name is not known')}`;
      throw new BmcFailure('NameNotFound', { class: 'retryable', code: 'UNREACHABLE', message }, host);
    }
    this.#checkNetwork(host, address);
    return { host: address, port };
  }

  async #run(
    endpoint: Endpoint,
    command: readonly string[],
    { machine, timing, signal, operatorRetry, details, login: given, stdin }: CommandOptions,
  ): Promise<string> {
    const login = given ?? (await this.#login(machine, signal));
    const where = endpointText(endpoint);
    const account = `${login.user}@${where}`;
    this.#breaker.check(account, login.fingerprint, operatorRetry);
    const end = await runIpmitool({
      args: [...this.#options(endpoint, login, timing), ...(details === 'none' ? [] : DETAILS), ...command],
      password: login.password,
      stdin,
      limitMs: timing.limitMs,
      signal,
    });
    if (end.exitCode === 0) {
      this.#breaker.accepted(account);
      return end.stdout;
    }
    const { reason, failure } = ipmiFailure(where, command.join(' '), end);
    if (reason === 'AuthenticationFailed') this.#breaker.refused(account, login.fingerprint);
    throw new BmcFailure(reason, failure, where);
  }

  async #login(machine: Machine, signal: AbortSignal): Promise<BmcLogin> {
    const login = await this.#logins.of(machine, signal);
    return readable(() => checkedForIpmi(login));
  }

  #options({ host, port }: Endpoint, { user }: BmcLogin, timing: CommandTiming): string[] {
    const { cipher_suite: suite, privilege } = this.#configuration;
    return [
      ...['-I', 'lanplus', '-C', String(suite), '-L', PRIVILEGES[privilege]],
      ...['-H', host, '-p', String(port), '-U', user, '-E'],
      ...['-N', String(timing.answerSeconds), '-R', String(timing.retries)],
    ];
  }
}

/** Of a BMC that does not answer: whether the command may have been carried out. */
const OUTAGE_EFFECTS: Partial<Record<BmcFailure['reason'], Outage['effect']>> = {
  NoAnswer: 'unknown',
  NoFreeSession: 'none',
  NameNotFound: 'none',
};

/** A StepFailure that also has the reason that a probe reports. */
export class BmcFailure extends StepFailure {
  readonly reason: IpmiReason | 'NameNotFound';

  constructor(reason: BmcFailure['reason'], failure: StepFailure['failure'], where = '') {
    const effect = OUTAGE_EFFECTS[reason];
    super(failure, effect === undefined ? null : { upstream: 'the BMC', name: where, effect });
    this.reason = reason;
  }
}

/** Null: it says something about us, and nothing about the BMC. */
function probeReason(error: StepFailure): string | null {
  if (error instanceof BmcFailure) return error.reason;
  if (isAddressRefused(error)) return 'AddressNotAllowed';
  return error.failure.code === 'AUTHENTICATION_FAILED' ? 'AuthenticationFailed' : null;
}

/** ipmitool runs the commands of a file. */
const COMMANDS_OF_STDIN = ['exec', '/dev/stdin'] as const;

const POWER_STATUS = ['chassis', 'power', 'status'] as const;

export async function powerOf(bmc: Bmc): Promise<Power> {
  return parsePower(bmc.where, await bmc.ask(...POWER_STATUS));
}

function parsePower(where: string, text: string): Power {
  const [, power] = /^Chassis Power is (on|off)\s*$/m.exec(text) ?? [];
  if (power === 'on' || power === 'off') return power;
  const message = `the BMC ${where} does not say whether the machine is on`;
  throw new BmcFailure('CommandRefused', { class: 'retryable', code: 'BMC_REFUSED', message });
}
