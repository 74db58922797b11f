/**
 * The health of the background loops, for operators and load balancers: the first failure of a loop is logged, then one line
 * a minute with the number of failures. A loop that failed several times in a row makes the replica unready, until it passes
 * again.
 */
import type { Logger } from 'pino';
import { Fault } from '../../domain/error/fault.ts';
import { StoreAway } from '../../engine/job-store.ts';
import { KeepalivesAway } from '../../store/agents/keepalive-store.ts';
import { sqlStateOf } from '../../store/database/database.ts';
import { DATABASE_CAUSE, type Readiness } from '../../surfaces/readiness.ts';
import type { LoopWatch } from '../../time/repeat-until-stopped.ts';

/** A single failure may be an accident, such as a connection that was cut. */
const MIN_FAILURES = 3;
const LOG_EVERY_MS = 60_000;

interface Failing {
  failures: number;
  loggedAt: number;
}

export interface LoopHealthOptions {
  readonly log: Pick<Logger, 'error' | 'info'>;
  readonly monotonicNow: () => number;
  readonly readiness: Readiness;
}

export class LoopHealth implements LoopWatch {
  readonly #options: LoopHealthOptions;
  readonly #failing = new Map<string, Failing>();

  constructor(options: LoopHealthOptions) {
    this.#options = options;
  }

  passed(loop: string): void {
    const failing = this.#failing.get(loop);
    if (!failing) return;
    this.#failing.delete(loop);
    this.#options.readiness.clear(loop);
    this.#options.log.info({ loop, failures: failing.failures }, 'a background loop works again');
  }

  failed(loop: string, error: unknown): void {
    if (this.#count(loop, error) < MIN_FAILURES) return;
    const { readiness } = this.#options;
    const cause = `${loop} fails: ${publicMessage(error)}`;
    // Without Redis a replica still serves everything but keepalives.
    if (error instanceof KeepalivesAway) readiness.note(loop, cause);
    else if (error instanceof StoreAway) readiness.set(loop, cause, DATABASE_CAUSE);
    else readiness.set(loop, cause);
  }

  /** For loops that only read another system: while that is away, this replica can still serve. */
  readonly withoutReadiness: LoopWatch = {
    passed: (loop) => this.passed(loop),
    failed: (loop, error) => {
      if (this.#count(loop, error) < MIN_FAILURES) return;
      this.#options.readiness.note(loop, `${loop} fails: ${publicMessage(error)}`);
    },
  };

  /** The loops were stopped. */
  forget(): void {
    for (const loop of this.#failing.keys()) this.#options.readiness.clear(loop);
    this.#failing.clear();
  }

  /** Returns how many times in a row it has failed. */
  #count(loop: string, error: unknown): number {
    const { log, monotonicNow } = this.#options;
    const now = monotonicNow();
    const failing = this.#failing.get(loop) ?? { failures: 0, loggedAt: Number.NEGATIVE_INFINITY };
    failing.failures += 1;
    this.#failing.set(loop, failing);
    // An unreachable Redis is logged by its connection.
    if (now - failing.loggedAt >= LOG_EVERY_MS && !(error instanceof KeepalivesAway)) {
      failing.loggedAt = now;
      const details = error instanceof Fault ? { reason: error.reason, ...error.metadata } : {};
      log.error({ err: error, failures: failing.failures, ...details }, loop);
    }
    return failing.failures;
  }
}

/** Holds no values, names or addresses: anyone may read /readyz. */
function publicMessage(error: unknown): string {
  if (error instanceof Fault || error instanceof StoreAway) return error.message;
  if (error instanceof KeepalivesAway) return 'the store of keepalives does not answer';
  const state = sqlStateOf(error);
  return state === null
    ? 'unexpected error, see the server log'
    : `PostgreSQL refused a statement (SQLSTATE ${state}), see the server log`;
}
