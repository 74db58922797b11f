/**
 * Keeps retries from hammering a host that refuses our key: many lock an account or an address out after a few
 * refusals. After some in a row the host is left alone for a while; another key counts anew.
 */
import { StepFailure } from '../../engine/step-handler.ts';

interface Refusals {
  readonly fingerprint: string;
  readonly count: number;
  readonly until: number;
}

const MAX_REFUSALS = 3;
const OPEN_MS = 5 * 60 * 1000;

export class LoginBreaker {
  readonly #hosts = new Map<string, Refusals>();
  readonly #monotonicNow: () => number;

  constructor(monotonicNow: () => number) {
    this.#monotonicNow = monotonicNow;
  }

  /** Throws while the host is to be left alone. */
  check(host: string, fingerprint: string): void {
    const refusals = this.#hosts.get(host);
    if (!refusals || refusals.fingerprint !== fingerprint || refusals.count < MAX_REFUSALS) return;
    const leftMs = refusals.until - this.#monotonicNow();
    if (leftMs <= 0) return;
    const message = `${host} refused our key ${refusals.count} times in a row; it is not asked again for ${Math.ceil(leftMs / 1000)} s`;
    throw new StepFailure({ class: 'needs_human', code: 'AUTHENTICATION_FAILED', message });
  }

  refused(host: string, fingerprint: string): void {
    const before = this.#hosts.get(host);
    const count = before?.fingerprint === fingerprint ? before.count + 1 : 1;
    this.#hosts.set(host, { fingerprint, count, until: this.#monotonicNow() + OPEN_MS });
  }

  accepted(host: string): void {
    this.#hosts.delete(host);
  }
}
