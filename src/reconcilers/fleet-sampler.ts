/** Writes down how many machines are in each state, for the fleet over time. Every replica tries, and the first one writes it. */
import type { Database } from '../store/database/database.ts';
import { sampleFleet } from '../store/history/fleet-samples.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

export interface FleetSamplerOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
}

/** A sample is for five minutes. */
const EVERY_MS = 60_000;

export function fleetSampler({ database, watch }: FleetSamplerOptions): BackgroundLoop {
  return new BackgroundLoop({
    name: 'sampling the fleet',
    everyMs: EVERY_MS,
    pass: async () => {
      await sampleFleet(database);
      return 'passed';
    },
    watch,
  });
}
