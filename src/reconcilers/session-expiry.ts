/**
 * Records the end of console sessions that no one ended: by their limits, or with their token. They open nothing from that moment
 * on by themselves; this writes it down. Every replica searches; the row's lock lets one of them record it.
 */
import type { Database } from '../store/database/database.ts';
import { endExpiredSessions } from '../store/session-ends.ts';
import { BackgroundLoop, type LoopWatch, type PassResult } from '../time/repeat-until-stopped.ts';

export interface SessionExpiryOptions {
  readonly database: Database;
  readonly idleSeconds: number;
  readonly watch: LoopWatch;
}

const EVERY_MS = 2_000;
const BATCH = 100;

export function sessionExpiry(options: SessionExpiryOptions): BackgroundLoop {
  return new BackgroundLoop({
    name: 'recording the ends of sessions',
    everyMs: EVERY_MS,
    pass: () => recordEnds(options),
    watch: options.watch,
  });
}

async function recordEnds({ database, idleSeconds }: SessionExpiryOptions): Promise<PassResult> {
  const ended = await endExpiredSessions(database, idleSeconds, BATCH);
  return ended === BATCH ? { nextInMs: 0 } : 'passed';
}
