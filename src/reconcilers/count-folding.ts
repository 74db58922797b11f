/**
 * Keeps the counts of the fleet short and true: folds what changes have appended, and compares the counts with the machines
 * once an hour. Every replica tries; a lock lets one fold, and a claim lets one check.
 */
import { type CheckResult, checkCounts } from '../store/counts/check-counts.ts';
import { claimCheck } from '../store/counts/count-state.ts';
import { foldCounts, tidyCounts, vacuumDeltas } from '../store/counts/fold-counts.ts';
import type { Database } from '../store/database/database.ts';
import { BackgroundLoop, type LoopWatch, type PassResult } from '../time/repeat-until-stopped.ts';

export interface CountFoldingOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
  readonly onChecked: (result: CheckResult) => void;
}

const EVERY_MS = 1_000;
const CHECK_EVERY_SECONDS = 3_600;
/** Folded deltas after which their tables are vacuumed. */
const VACUUM_AFTER = 5_000;

export function countFolding(options: CountFoldingOptions): BackgroundLoop {
  const state: FoldingState = { foldedSinceVacuum: 0, wasBehind: false };
  return new BackgroundLoop({
    name: 'counting the fleet',
    everyMs: EVERY_MS,
    pass: (stopping) => foldAndCheck(options, state, stopping),
    watch: options.watch,
  });
}

interface FoldingState {
  foldedSinceVacuum: number;
  /** Its last fold left some: what an import appended, or a check. Only when the last of them is gone can the table become short again. */
  wasBehind: boolean;
}

async function foldAndCheck(
  { database, onChecked }: CountFoldingOptions,
  state: FoldingState,
  stopping: AbortSignal,
): Promise<PassResult> {
  const folded = await foldCounts(database);
  state.foldedSinceVacuum += folded?.deltas ?? 0;
  const hasCaughtUp = state.wasBehind && folded?.goesOn === false;
  state.wasBehind = folded?.goesOn ?? state.wasBehind;
  if (state.foldedSinceVacuum >= VACUUM_AFTER || hasCaughtUp) {
    state.foldedSinceVacuum = 0;
    await tidyCounts(database);
    await vacuumDeltas(database);
  }
  if (await claimCheck(database, CHECK_EVERY_SECONDS)) {
    const result = await checkCounts(database, stopping);
    if (result) onChecked(result);
  }
  return folded?.goesOn ? { nextInMs: 0 } : 'passed';
}
