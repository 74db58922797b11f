/**
 * Keeps retries from hammering a host or a BMC that refuses our credential: many lock an account or an address out
 * after a few refusals. After some in a row it is left alone for a while; another credential has a count of its own.
 */
import { StepFailure } from '../engine/step-handler.ts';

interface Refusals {
  readonly fingerprint: string;
  readonly count: number;
  readonly until: number;
  /** The last retry of an operator that passed. */
  readonly letThrough: string;
}

const OPEN_MS = 5 * 60 * 1000;

export interface LoginBreakerOptions {
  readonly monotonicNow: () => number;
  /** For messages: "key" or "password". */
  readonly credential: string;
  /** How many refusals in a row it takes. */
  readonly maxRefusals: number;
}

export class LoginBreaker {
  readonly #hosts = new Map<string, Refusals>();
  readonly #options: LoginBreakerOptions;

  constructor(options: LoginBreakerOptions) {
    this.#options = options;
  }

  /** Throws while the breaker is open for the host. An operator's retry passes once. */
  check(host: string, fingerprint: string, operatorRetry = ''): void {
    const { monotonicNow, credential, maxRefusals } = this.#options;
    const refusals = this.#hosts.get(host);
    if (!refusals || refusals.fingerprint !== fingerprint || refusals.count < maxRefusals) return;
    const leftMs = refusals.until - monotonicNow();
    if (leftMs <= 0) return;
    if (operatorRetry !== '' && refusals.letThrough !== operatorRetry) {
      this.#hosts.set(host, { ...refusals, letThrough: operatorRetry });
      return;
    }
    const times = refusals.count === 1 ? '' : ` ${refusals.count} times in a row`;
    const message = `${host} refused our ${credential}${times}; it is not asked again for ${Math.ceil(leftMs / 1000)} s`;
    throw new StepFailure({ class: 'needs_human', code: 'AUTHENTICATION_FAILED', message });
  }

  refused(host: string, fingerprint: string): void {
    const before = this.#hosts.get(host);
    const count = before?.fingerprint === fingerprint ? before.count + 1 : 1;
    const letThrough = before?.letThrough ?? '';
    this.#hosts.set(host, { fingerprint, count, until: this.#options.monotonicNow() + OPEN_MS, letThrough });
  }

  accepted(host: string): void {
    this.#hosts.delete(host);
  }
}
