/**
 * A circuit breaker for a MAAS that does not answer: while it is open, requests fail at once instead of running into
 * their time limit. After a while one trial request passes; its result decides for all. Each while is longer than the last.
 */
import { StepFailure } from '../../../engine/step-handler.ts';
import { maasOutage } from './maas-failure.ts';

export interface AnswerBreakerOptions {
  readonly maas: string;
  readonly monotonicNow: () => number;
  readonly random: () => number;
  /** The longest that the trial request may take. */
  readonly trialMs: number;
}

/** How many unanswered requests in a row it takes. */
const MAX_UNANSWERED = 3;
const FIRST_OPEN_MS = 2_000;
/** No longer than a step should wait for a MAAS that is back. */
const LONGEST_OPEN_MS = 15_000;

/** How a request passed: while the breaker was closed, or as the trial. */
export type Entry = 'ordinary' | 'trial';

export class AnswerBreaker {
  readonly #options: AnswerBreakerOptions;
  #unanswered = 0;
  /** Null: closed. */
  #openUntil: number | null = null;
  #openMs = 0;

  constructor(options: AnswerBreakerOptions) {
    this.#options = options;
  }

  /** Throws while the breaker is open. */
  check(): void {
    if (this.#openUntil === null) return;
    const leftMs = this.#openUntil - this.#options.monotonicNow();
    if (leftMs > 0) throw this.#failure(leftMs);
  }

  /** As check; a request that passes while the breaker is open is the trial. */
  enter(): Entry {
    this.check();
    if (this.#openUntil === null) return 'ordinary';
    this.#openUntil = this.#options.monotonicNow() + this.#options.trialMs;
    return 'trial';
  }

  answered(): void {
    this.#unanswered = 0;
    this.#openUntil = null;
    this.#openMs = 0;
  }

  /** The request was aborted, and nothing is known: another may be the trial. */
  left(entry: Entry): void {
    if (entry === 'trial' && this.#openUntil !== null) this.#openUntil = this.#options.monotonicNow();
  }

  unanswered(entry: Entry): void {
    this.#unanswered++;
    // Requests that were under way when it opened fail too, and do not open it again.
    const counts = this.#openUntil === null ? this.#unanswered >= MAX_UNANSWERED : entry === 'trial';
    if (!counts) return;
    this.#openMs = this.#openMs === 0 ? FIRST_OPEN_MS : Math.min(this.#openMs * 2, LONGEST_OPEN_MS);
    // Replicas that noticed together should not try together.
    const spread = 0.75 + this.#options.random() / 2;
    this.#openUntil = this.#options.monotonicNow() + this.#openMs * spread;
  }

  #failure(leftMs: number): StepFailure {
    const message = `${this.#options.maas} has not answered ${this.#unanswered} times in a row; it is asked again in ${Math.ceil(leftMs / 1000)} s`;
    const outage = maasOutage(this.#options.maas, 'none');
    return new StepFailure({ class: 'retryable', code: 'MAAS_UNAVAILABLE', message }, outage);
  }
}
