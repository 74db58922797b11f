/**
 * Keeps the tables of deltas as short as what is in them. A backlog, as the return from an earlier version leaves it, makes them long, and every reader of
 * counts would scan their empty pages from then on.
 */
import { shortenDeltas } from '../store/counts/fold-counts.ts';
import type { Database } from '../store/database/database.ts';
import { BackgroundLoop, type LoopWatch } from '../time/repeat-until-stopped.ts';

const EVERY_MS = 30_000;

export interface CountShorteningOptions {
  readonly database: Database;
  readonly watch: LoopWatch;
}

export function countShortening({ database, watch }: CountShorteningOptions): BackgroundLoop {
  return new BackgroundLoop({
    name: 'shortening the deltas of counts',
    everyMs: EVERY_MS,
    pass: () => shortenDeltas(database),
    watch,
  });
}
