/**
 * Keeps the counts of the fleet true: compares them with the machines once an hour. Every replica tries; a claim lets one check. A loop of its own,
 * because folds go on while a check reads the fleet, or readers would add up what was appended meanwhile.
 */
import { type CheckResult, checkCounts } from '../store/counts/check-counts.ts';
import { claimCheck } from '../store/counts/count-state.ts';
import type { Database } from '../store/database/database.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

export interface CountCheckingOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
  readonly onChecked: (result: CheckResult) => void;
}

const EVERY_MS = 1_000;
const CHECK_EVERY_SECONDS = 3_600;

export function countChecking({ database, watch, onChecked }: CountCheckingOptions): BackgroundLoop {
  return new BackgroundLoop({
    name: 'checking the counts of the fleet',
    everyMs: EVERY_MS,
    pass: async (stopping) => {
      if (!(await claimCheck(database, CHECK_EVERY_SECONDS))) return;
      const result = await checkCounts(database, stopping);
      if (result) onChecked(result);
    },
    watch,
  });
}
