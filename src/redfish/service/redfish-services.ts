/**
 * Every request to a Redfish service goes through here: one caller at a time for each, because many mix up or refuse
 * concurrent requests. Operations wait for the lock, probes do not. A session is kept for the next caller and ended when none
 * comes, so that a BMC with few sessions has at most one of ours, and its log is not full of logins. After one refused login a
 * BMC is left alone, because many lock the account after a few.
 */
import { AddressNotAllowed, type AddressRule, allowedAddress } from '../../connections/address-rules.ts';
import { KeyedMutex, Wanted } from '../../connections/keyed-mutex.ts';
import { LoginBreaker } from '../../connections/login-breaker.ts';
import { unlessAborted } from '../../connections/unless-aborted.ts';
import { parseAddress } from '../../domain/address/network.ts';
import type { BmcCertificate } from '../../domain/hardware/bmc-certificate.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { readPeerCertificate } from '../connection/peer-certificate.ts';
import { type RedfishEndpoint, redfishEndpointOf } from '../connection/redfish-endpoint.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import { type RedfishLogin, RedfishSession } from '../connection/redfish-session.ts';
import { RedfishWire } from '../connection/redfish-wire.ts';
import { RedfishService, type Resource } from './redfish-service.ts';

export interface RedfishServicesOptions {
  readonly rule: AddressRule;
  /** Throws a StepFailure where the provider's own networks rule the address out. */
  readonly checkNetwork: (host: string, address: string) => void;
  readonly login: (machine: Machine, signal: AbortSignal) => Promise<RedfishLogin>;
  readonly authorities: string | null;
  readonly plaintext: 'allowed' | 'refused';
  readonly limitMs: number;
  readonly monotonicNow: () => number;
}

/** What a caller needs of a call to a provider. */
export interface RedfishCall {
  readonly machine: Machine;
  readonly operatorRetry?: string;
  readonly checkHeld: () => void;
  readonly signal: AbortSignal;
}

interface Use {
  readonly endpoint: RedfishEndpoint;
  readonly address: string;
  readonly limitMs: number;
  /** Null: the machine's own. */
  readonly login: RedfishLogin | null;
}

interface Kept {
  readonly session: RedfishSession;
  ending: NodeJS.Timeout;
}

const SESSION_IDLE_MS = 5 * 60 * 1000;
const PROBE_LIMIT_MS = 4_000;
const LOGOUT_LIMIT_MS = 2_000;

export class RedfishServices {
  readonly #options: RedfishServicesOptions;
  readonly #breaker: LoginBreaker;
  readonly #mutex = new KeyedMutex();
  readonly #kept = new Map<string, Kept>();

  constructor(options: RedfishServicesOptions) {
    this.#options = options;
    const { monotonicNow } = options;
    this.#breaker = new LoginBreaker({ monotonicNow, credential: 'password', maxRefusals: 1 });
  }

  /** The work has the service to itself, with the machine's own login or another. An aborted call ends at once; the service stays locked until the work is over. */
  async use<T>(
    call: RedfishCall,
    work: (service: RedfishService) => Promise<T>,
    login: RedfishLogin | null = null,
  ): Promise<T> {
    const { signal } = call;
    const endpoint = redfishEndpointOf(call.machine);
    const address = await this.#resolve(endpoint, signal);
    const using = this.#mutex.run(lockOf(endpoint, address), signal, () =>
      this.#inSession(call, { endpoint, address, limitMs: this.#options.limitMs, login }, work),
    );
    return unlessAborted(using, signal);
  }

  /** What the service shows before anything is sent to it. */
  async certificate({ machine, signal }: RedfishCall): Promise<BmcCertificate> {
    const { rule, authorities, limitMs } = this.#options;
    const endpoint = redfishEndpointOf(machine);
    const address = await this.#resolve(endpoint, signal);
    return readPeerCertificate({ endpoint, address, rule, authorities, limitMs, signal });
  }

  /** Null: another caller is using it. */
  async tryUse<T>(
    machine: Machine,
    signal: AbortSignal,
    work: (service: RedfishService) => Promise<T>,
  ): Promise<T | null> {
    const endpoint = redfishEndpointOf(machine);
    const address = await this.#resolve(endpoint, signal);
    const lock = lockOf(endpoint, address);
    if (this.#mutex.isLocked(lock)) return null;
    const call = { machine, checkHeld: readsOnly, signal };
    const limitMs = Math.min(PROBE_LIMIT_MS, this.#options.limitMs);
    const using = this.#mutex.run(lock, signal, () =>
      this.#inSession(call, { endpoint, address, limitMs, login: null }, work),
    );
    return unlessAborted(using, signal);
  }

  /**
   * Reads as long as no other caller wants the service: then the request under way is given up, and the answer is null. The login
   * is not: a session that is opened and not known here would stay open at the service.
   */
  async readUnlessWanted<T>(
    machine: Machine,
    signal: AbortSignal,
    read: (service: RedfishService, system: Resource) => Promise<T>,
  ): Promise<T | null> {
    const endpoint = redfishEndpointOf(machine);
    const address = await this.#resolve(endpoint, signal);
    const reading = this.#mutex.tryRun(lockOf(endpoint, address), signal, async (wanted) => {
      const call = { machine, checkHeld: readsOnly, signal };
      try {
        const use = { endpoint, address, limitMs: this.#options.limitMs, login: null };
        return await this.#inSession(call, use, async (service) => {
          const system = await service.system();
          call.signal = AbortSignal.any([signal, wanted]);
          call.signal.throwIfAborted();
          return read(service, system);
        });
      } catch (error) {
        if (wanted.aborted && !signal.aborted && wanted.reason instanceof Wanted) return null;
        throw error;
      }
    });
    return unlessAborted(reading, signal);
  }

  /** Throws a StepFailure where the spec or the configuration rules the service out. A name is resolved when it is used. */
  checkStart(machine: Machine): void {
    const endpoint = redfishEndpointOf(machine);
    this.#checkEncrypted(endpoint);
    this.#options.rule.check(endpoint.host);
    this.#options.checkNetwork(endpoint.host, endpoint.host);
  }

  /** Ends every session. */
  async stop(): Promise<void> {
    const kept = [...this.#kept.values()];
    this.#kept.clear();
    for (const { ending } of kept) clearTimeout(ending);
    await Promise.all(kept.map(({ session }) => logOut(session)));
  }

  async #inSession<T>(
    call: RedfishCall,
    { endpoint, address, limitMs, login: given }: Use,
    work: (service: RedfishService) => Promise<T>,
  ): Promise<T> {
    const { machine, signal } = call;
    const login = given ?? (await this.#options.login(machine, signal));
    const { bmc_certificate_sha256: fingerprint } = machine.spec;
    const { rule, authorities } = this.#options;
    const account = `${login.user}@${lockOf(endpoint, address)}`;
    this.#breaker.check(account, login.fingerprint, call.operatorRetry);
    const key = [endpoint.protocol, account, login.fingerprint, fingerprint, limitMs].join(' ');
    const kept = this.#kept.get(key);
    clearTimeout(kept?.ending);
    this.#kept.delete(key);
    const session =
      kept?.session ??
      new RedfishSession(
        new RedfishWire({ endpoint, address, rule, authorities, fingerprint, limitMs }),
        login,
        {
          accepted: () => this.#breaker.accepted(account),
          refused: () => this.#breaker.refused(account, login.fingerprint),
        },
      );
    try {
      return await work(new RedfishService(session, endpoint.system, call));
    } finally {
      this.#keep(key, session);
    }
  }

  #keep(key: string, session: RedfishSession): void {
    const ending = setTimeout(() => {
      this.#kept.delete(key);
      void logOut(session);
    }, SESSION_IDLE_MS);
    ending.unref();
    this.#kept.set(key, { session, ending });
  }

  #checkEncrypted({ protocol, host }: RedfishEndpoint): void {
    if (protocol === 'https:' || this.#options.plaintext === 'allowed') return;
    throw new RedfishFailure(
      'NotOffered',
      host,
      'spec.bmc_endpoint is http, which sends the password in plain text; use https, or set bmc.redfish.plaintext',
    );
  }

  /** By address, so that a BMC with two names has one lock, and the address that was checked is the one that is called. */
  async #resolve(endpoint: RedfishEndpoint, signal: AbortSignal): Promise<string> {
    const { rule, checkNetwork } = this.#options;
    this.#checkEncrypted(endpoint);
    const { host } = endpoint;
    let address: string;
    try {
      address = await unlessAborted(allowedAddress(host, rule), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AddressNotAllowed) throw error;
      throw new RedfishFailure('NotReachable', host, 'the name is not known');
    }
    checkNetwork(host, parseAddress(address) === null ? host : address);
    return address;
  }
}

function lockOf({ port }: RedfishEndpoint, address: string): string {
  return `${address}:${port}`;
}

function readsOnly(): void {
  throw new TypeError('a probe changes nothing');
}

/** A session that can't be ended now is ended by the service's own limit. */
async function logOut(session: RedfishSession): Promise<void> {
  try {
    await session.close(AbortSignal.timeout(LOGOUT_LIMIT_MS));
  } catch (error) {
    const isAway =
      error instanceof StepFailure || (error instanceof DOMException && error.name === 'TimeoutError');
    session.wire.close();
    if (!isAway) throw error;
  }
}
