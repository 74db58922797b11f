/**
 * Keeps the counts of the fleet short and true: folds what changes have appended, and compares the counts with the machines
 * once an hour. Every replica tries; a lock lets one fold, and a claim lets one check.
 */
import { type CheckResult, checkCounts } from '../store/counts/check-counts.ts';
import { claimCheck } from '../store/counts/count-state.ts';
import { foldCounts, tidyCounts, vacuumDeltas } from '../store/counts/fold-counts.ts';
import type { Database } from '../store/database/database.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

export interface CountFoldingOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
  readonly onChecked: (result: CheckResult) => void;
}

const EVERY_MS = 1_000;
const CHECK_EVERY_SECONDS = 3_600;
/** Folded deltas after which their tables are vacuumed. */
const VACUUM_AFTER = 5_000;

export class CountFolding {
  readonly #options: CountFoldingOptions;
  readonly #loop: BackgroundLoop;
  #foldedSinceVacuum = 0;

  constructor(options: CountFoldingOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      name: 'counting the fleet',
      everyMs: EVERY_MS,
      pass: (stopping) => this.#pass(stopping),
      watch: options.watch,
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #pass(stopping: AbortSignal) {
    const { database, onChecked } = this.#options;
    const folded = await foldCounts(database);
    this.#foldedSinceVacuum += folded?.deltas ?? 0;
    if (this.#foldedSinceVacuum >= VACUUM_AFTER) {
      this.#foldedSinceVacuum = 0;
      await tidyCounts(database);
      await vacuumDeltas(database);
    }
    if (await claimCheck(database, CHECK_EVERY_SECONDS)) {
      const result = await checkCounts(database, stopping);
      if (result) onChecked(result);
    }
    return folded?.goesOn ? { nextInMs: 0 } : ('passed' as const);
  }
}
