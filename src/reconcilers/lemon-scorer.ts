/** Scores machines to which something happened (src/store/hardware/lemon-scores.ts). Every replica tries, and one at a time does it. */
import type { Database } from '../store/database/database.ts';
import { scoreLemons } from '../store/hardware/lemon-scores.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

export interface LemonScorerOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
}

const EVERY_MS = 10_000;

export function lemonScorer({ database, watch }: LemonScorerOptions): BackgroundLoop {
  return new BackgroundLoop({
    name: 'scoring machines',
    everyMs: EVERY_MS,
    pass: async () => ((await scoreLemons(database, EVERY_MS / 2)) === null ? 'idle' : 'passed'),
    watch,
  });
}
