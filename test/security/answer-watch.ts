/**
 * Whether a call is answered at all. A host with much other work answers everything late, so a late answer is judged by an
 * honest call that is made beside it: a case whose answer does not come while honest calls are answered, again and again, has
 * no answer. How late the answers were, and how late this process itself was, are figures.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** After this time, honest calls are made beside a case that waits. */
const LATE_MS = 20_000;
/** As many of them have to be answered before the case counts as one without an answer. */
const HONEST_CALLS = 5;
const BETWEEN_MS = 2_000;

export class AnswerWatch {
  readonly #honestCall: () => Promise<void>;
  readonly #delay = monitorEventLoopDelay({ resolution: 20 });
  #late = 0;
  #slowest = { ms: 0, what: 'none' };

  constructor(honestCall: () => Promise<void>) {
    this.#honestCall = honestCall;
    this.#delay.enable();
  }

  /** Null: the case was answered, however late. Else why it counts as not answered. */
  async over(what: string, answered: Promise<unknown>): Promise<string | null> {
    const startedAt = performance.now();
    let isOver = false;
    const end = answered.then(() => {
      isOver = true;
    });
    const late = new AbortController();
    await Promise.race([end, sleep(LATE_MS, undefined, { signal: late.signal }).catch(() => {})]);
    late.abort();
    if (!isOver) this.#late += 1;
    const honest: number[] = [];
    while (!isOver && honest.length < HONEST_CALLS) {
      const askedAt = performance.now();
      await Promise.race([end, this.#honestCall()]);
      honest.push(Math.round(performance.now() - askedAt));
      await Promise.race([end, sleep(BETWEEN_MS)]);
    }
    const elapsedMs = Math.round(performance.now() - startedAt);
    if (elapsedMs > this.#slowest.ms) this.#slowest = { ms: elapsedMs, what };
    if (isOver) return null;
    return `no answer in ${elapsedMs} ms, while honest calls took ${honest.join(', ')} ms`;
  }

  get figures(): string {
    const own = Math.round(this.#delay.max / 1e6);
    const { ms, what } = this.#slowest;
    return `the slowest answer took ${ms} ms (${what}), ${this.#late} took over ${LATE_MS / 1000} s; the event loop was ${own} ms late at most`;
  }

  stop(): void {
    this.#delay.disable();
  }
}
