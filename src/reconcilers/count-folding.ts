/** Keeps the counts of the fleet short: folds what changes have appended. Every replica tries; a lock lets one fold. */
import { foldCounts, tidyCounts, vacuumDeltas } from '../store/counts/fold-counts.ts';
import type { Database } from '../store/database/database.ts';
import { BackgroundLoop, type LoopWatch, type PassResult } from '../time/repeat-until-stopped.ts';

export interface CountFoldingOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
}

const EVERY_MS = 1_000;
/** Folded deltas after which their tables are vacuumed. */
const VACUUM_AFTER = 5_000;

export function countFolding(options: CountFoldingOptions): BackgroundLoop {
  const state: FoldingState = { foldedSinceVacuum: 0, wasBehind: false };
  return new BackgroundLoop({
    name: 'counting the fleet',
    everyMs: EVERY_MS,
    pass: () => foldAndTidy(options, state),
    watch: options.watch,
  });
}

interface FoldingState {
  foldedSinceVacuum: number;
  /** Its last fold left some: what an import appended, or a check. Only when the last of them is gone can the table become short again. */
  wasBehind: boolean;
}

async function foldAndTidy({ database }: CountFoldingOptions, state: FoldingState): Promise<PassResult> {
  const folded = await foldCounts(database);
  state.foldedSinceVacuum += folded?.deltas ?? 0;
  const hasCaughtUp = state.wasBehind && folded?.goesOn === false;
  state.wasBehind = folded?.goesOn ?? state.wasBehind;
  if (state.foldedSinceVacuum >= VACUUM_AFTER || hasCaughtUp) {
    state.foldedSinceVacuum = 0;
    await tidyCounts(database);
    await vacuumDeltas(database);
  }
  return folded?.goesOn ? { nextInMs: 0 } : 'passed';
}
