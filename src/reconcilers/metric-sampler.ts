/**
 * Samples the metrics of agents every few minutes, for their history; keepalives store only the newest values. A sample is
 * read from the store of keepalives, in pieces with a rest after each: a sample has minutes to complete, a keepalive has not.
 * A sample that is cut short, by a stop or by a store that does not answer, is a gap in the history.
 */
import type { KeepaliveStore } from '../store/agents/keepalive-store.ts';
import {
  claimSample,
  readyAddresses,
  type SampleClaim,
  storeSamples,
} from '../store/agents/metric-samples.ts';
import type { Database } from '../store/database/database.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';
import { sleep } from '../time/sleep.ts';

export interface MetricSamplerOptions {
  readonly database: Database;
  readonly keepalives: Pick<KeepaliveStore, 'read'>;
  readonly everySeconds: number;
  readonly watch: LoopWatch;
}

const BATCH = 1_000;
const REST_MS = 20;
/** How late a sample may be, as a part of the time between two. */
const TICKS = 20;
const MAX_TICK_MS = 15_000;

export function metricSampler(options: MetricSamplerOptions): BackgroundLoop {
  return new BackgroundLoop({
    name: 'sampling metrics',
    everyMs: Math.min(MAX_TICK_MS, (options.everySeconds * 1000) / TICKS),
    pass: async (stopping) => {
      const claim = await claimSample(options.database, options.everySeconds);
      if (claim) await sampleMetrics(options, claim, stopping);
    },
    watch: options.watch,
  });
}

async function sampleMetrics(
  { database, keepalives }: MetricSamplerOptions,
  { slot, since }: SampleClaim,
  stopping: AbortSignal,
): Promise<void> {
  // A store may know the time of a keepalive only to the second. A value that is therefore sampled twice is shown once.
  const from = Math.floor(since.getTime() / 1000) * 1000;
  let after = '';
  while (!stopping.aborted) {
    const addresses = await readyAddresses(database, after, BATCH);
    const vitals = await keepalives.read(addresses);
    const samples = addresses.flatMap(({ machineId }, index) => {
      const { lastKeepaliveAt: at = null, metrics = {} } = vitals[index] ?? {};
      return at !== null && at.getTime() >= from && Object.keys(metrics).length > 0
        ? [{ machineId, at, metrics }]
        : [];
    });
    if (samples.length > 0) await storeSamples(database, slot, samples);
    if (addresses.length < BATCH) return;
    after = addresses.at(-1)?.machineId ?? after;
    await sleep(REST_MS, stopping);
  }
}
