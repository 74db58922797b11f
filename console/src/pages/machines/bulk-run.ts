/**
 * Sends one request for each machine, a few at a time, and keeps what came of each. The request id of a machine is made
 * of the dialog's and its place, so that trying again is the same request and starts nothing twice.
 */
import type { Candidate } from './bulk-actions.ts';

export const BULK_STATES = {
  ineligible: 'not sent',
  waiting: 'waiting',
  sending: 'being sent',
  started: 'started',
  failed: 'refused',
  stopped: 'not sent: stopped',
} as const;

export type BulkState = keyof typeof BULK_STATES;

export interface BulkResult {
  readonly machineId: string;
  readonly state: BulkState;
  readonly operationId: string;
  /** Why it was not sent, or what the server said. */
  readonly message: string;
}

export interface BulkRunOptions {
  readonly candidates: readonly Candidate[];
  readonly requestId: string;
  /** Answers with the operation's id. */
  readonly send: (candidate: Candidate, requestId: string) => Promise<string>;
  readonly explain: (error: unknown) => string;
  readonly concurrency?: number;
  /** Listeners hear at most once in this time, however fast answers come. */
  readonly tellMs?: number;
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
    this.#options = { concurrency: 8, tellMs: 100, ...options };
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

  /** Sends what waits. Ends when everything that was sent has its answer. */
  async run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#isStopping = false;
    this.#tell();
    const places = this.#results.keys();
    const worker = async () => {
      for (const place of places) {
        if (this.#isStopping) return;
        if (this.#results[place]?.state === 'waiting') await this.#send(place);
      }
    };
    await Promise.all(Array.from({ length: this.#options.concurrency }, worker));
    this.#each('waiting', 'stopped');
    this.#isRunning = false;
    this.#tell();
  }

  /** What was sent is sent; nothing more is. */
  stop(): void {
    this.#isStopping = true;
    this.#tell();
  }

  /** Sends again what was refused or never sent, under the same request ids. */
  async runRest(): Promise<void> {
    if (this.#isRunning) return;
    this.#each('failed', 'waiting');
    this.#each('stopped', 'waiting');
    await this.run();
  }

  #each(from: BulkState, to: BulkState): void {
    for (const [place, result] of this.#results.entries())
      if (result.state === from) this.#results[place] = { ...result, state: to, message: '' };
  }

  async #send(place: number): Promise<void> {
    const candidate = this.#options.candidates[place];
    if (!candidate) return;
    const { machineId } = candidate;
    const set = (result: Omit<BulkResult, 'machineId'>) => {
      this.#results[place] = { machineId, ...result };
      this.#tellSoon();
    };
    set({ state: 'sending', operationId: '', message: '' });
    try {
      const operationId = await this.#options.send(candidate, `${this.#options.requestId}-${place}`);
      set({ state: 'started', operationId, message: '' });
    } catch (error) {
      set({ state: 'failed', operationId: '', message: this.#options.explain(error) });
    }
  }

  #tellSoon(): void {
    this.#timer ??= setTimeout(() => this.#tell(), this.#options.tellMs);
  }

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }
}
