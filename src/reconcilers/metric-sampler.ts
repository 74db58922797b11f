/**
 * Takes down what agents tell, every few minutes, so that there is a history to show. Keepalives themselves keep only the
 * newest. What is sampled is read where keepalives live, in pieces with a rest after each: a sample has minutes to
 * complete, and keepalives have not. One that is cut short, by a stop or a store that does not answer, is a gap.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../store/database.ts';
import { type KeepaliveStore, KeepalivesAway } from '../store/keepalive-store.ts';
import { claimSample, readyAddresses, type SampleClaim, storeSamples } from '../store/metric-samples.ts';

export interface MetricSamplerOptions {
  readonly database: Database;
  readonly keepalives: Pick<KeepaliveStore, 'read'>;
  readonly everySeconds: number;
  readonly onError: (error: unknown, during: string) => void;
}

const PIECE = 1_000;
const REST_MS = 20;
/** How late a sample may be, as a part of the time between two. */
const TICKS = 20;
const MAX_TICK_MS = 15_000;

export class MetricSampler {
  readonly #options: MetricSamplerOptions;
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: MetricSamplerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop = this.#sampleUntilStopped();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #sampleUntilStopped(): Promise<void> {
    const { database, everySeconds, onError } = this.#options;
    const tickMs = Math.min(MAX_TICK_MS, (everySeconds * 1000) / TICKS);
    while (!this.#stopping.signal.aborted) {
      try {
        const claim = await claimSample(database, everySeconds);
        if (claim) await this.#sample(claim);
      } catch (error) {
        if (!(error instanceof KeepalivesAway)) onError(error, 'sampling metrics');
      }
      await this.#rest(tickMs);
    }
  }

  async #sample({ slot, since }: SampleClaim): Promise<void> {
    const { database, keepalives } = this.#options;
    // A store may know the time of a keepalive by the second only. What is sampled twice for that is shown once.
    const from = Math.floor(since.getTime() / 1000) * 1000;
    let after = '';
    while (!this.#stopping.signal.aborted) {
      const addresses = await readyAddresses(database, after, PIECE);
      const vitals = await keepalives.read(addresses);
      const samples = addresses.flatMap(({ machineId }, index) => {
        const { lastKeepaliveAt: at = null, metrics = {} } = vitals[index] ?? {};
        return at !== null && at.getTime() >= from && Object.keys(metrics).length > 0
          ? [{ machineId, at, metrics }]
          : [];
      });
      if (samples.length > 0) await storeSamples(database, slot, samples);
      if (addresses.length < PIECE) return;
      after = addresses.at(-1)?.machineId ?? after;
      await this.#rest(REST_MS);
    }
  }

  /** Only a stop ends this early. */
  async #rest(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}
