/**
 * Sends one request per machine, a few at a time, and keeps each result. A machine's request id is the dialog's id plus
 * the machine's index, so that a retry is the same request and starts nothing twice.
 */
import type { Candidate } from './bulk-actions.ts';

export const BULK_STATES = {
  ineligible: 'skipped',
  waiting: 'waiting',
  sending: 'sending',
  started: 'started',
  failed: 'failed',
  stopped: 'stopped',
} as const;

export type BulkState = keyof typeof BULK_STATES;

export interface BulkResult {
  readonly machineId: string;
  readonly state: BulkState;
  readonly operationId: string;
  /** Why it was skipped, or the server's error. */
  readonly message: string;
}

export interface BulkRunOptions {
  readonly candidates: readonly Candidate[];
  readonly requestId: string;
  /** Resolves to the operation's id. */
  readonly send: (candidate: Candidate, requestId: string) => Promise<string>;
  readonly explain: (error: unknown) => string;
  readonly concurrency?: number;
  /** Listeners are notified at most once in this time, however fast responses arrive. */
  readonly notifyMs?: number;
}

export type BulkCounts = Readonly<Record<BulkState, number>>;

export class BulkRun {
  readonly #options: Required<BulkRunOptions>;
  readonly #results: BulkResult[];
  readonly #listeners = new Set<() => void>();
  #version = 0;
  #isStopping = false;
  #isRunning = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: BulkRunOptions) {
    this.#options = { concurrency: 8, notifyMs: 100, ...options };
    this.#results = options.candidates.map(({ machineId, reason }) => ({
      machineId,
      state: reason === '' ? 'waiting' : 'ineligible',
      operationId: '',
      message: reason,
    }));
  }

  readonly version = (): number => this.#version;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  results(): readonly BulkResult[] {
    return this.#results;
  }

  counts(): BulkCounts {
    const counts = { ineligible: 0, waiting: 0, sending: 0, started: 0, failed: 0, stopped: 0 };
    for (const { state } of this.#results) counts[state] += 1;
    return counts;
  }

  isRunning(): boolean {
    return this.#isRunning;
  }

  isStopping(): boolean {
    return this.#isStopping;
  }

  /** Sends all waiting requests. Resolves when each request that was sent has its response. */
  async run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#isStopping = false;
    this.#notify();
    const indexes = this.#results.keys();
    const worker = async () => {
      for (const index of indexes) {
        if (this.#isStopping) return;
        if (this.#results[index]?.state === 'waiting') await this.#send(index);
      }
    };
    await Promise.all(Array.from({ length: this.#options.concurrency }, worker));
    this.#replaceState('waiting', 'stopped');
    this.#isRunning = false;
    this.#notify();
  }

  /** Sends nothing more. Requests in flight still complete. */
  stop(): void {
    this.#isStopping = true;
    this.#notify();
  }

  /** Sends the failed and stopped requests again, with the same request ids. */
  async retry(): Promise<void> {
    if (this.#isRunning) return;
    this.#replaceState('failed', 'waiting');
    this.#replaceState('stopped', 'waiting');
    await this.run();
  }

  #replaceState(from: BulkState, to: BulkState): void {
    for (const [index, result] of this.#results.entries())
      if (result.state === from) this.#results[index] = { ...result, state: to, message: '' };
  }

  async #send(index: number): Promise<void> {
    const candidate = this.#options.candidates[index];
    if (!candidate) return;
    const { machineId } = candidate;
    const set = (result: Omit<BulkResult, 'machineId'>) => {
      this.#results[index] = { machineId, ...result };
      this.#notifySoon();
    };
    set({ state: 'sending', operationId: '', message: '' });
    try {
      const operationId = await this.#options.send(candidate, `${this.#options.requestId}-${index}`);
      set({ state: 'started', operationId, message: '' });
    } catch (error) {
      set({ state: 'failed', operationId: '', message: this.#options.explain(error) });
    }
  }

  #notifySoon(): void {
    this.#timer ??= setTimeout(() => this.#notify(), this.#options.notifyMs);
  }

  #notify(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }
}
