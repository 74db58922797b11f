/** What the writers of events do while they are measured: how often they commit, and how long they wait for their turn. */
import type pg from 'pg';
import { sleep } from '../../src/time/sleep.ts';

const SAMPLE_MS = 10;

export interface Writers {
  /** Transactions that committed. */
  readonly commits: number;
  /** Mean number that waited for the lock of the event log. */
  readonly waitingForTurn: number;
  /** Mean number that waited for the log to be flushed. */
  readonly flushing: number;
}

/** While the work runs. */
export async function watchWriters<T>(
  sql: pg.Pool,
  work: () => Promise<T>,
): Promise<{ result: T; writers: Writers }> {
  const before = await committed(sql);
  const over = new AbortController();
  const sums = { samples: 0, turn: 0, flush: 0 };
  const sampling = (async () => {
    while (!over.signal.aborted) {
      const { rows } = await sql.query<{ turn: number; flush: number }>(
        `SELECT count(*) FILTER (WHERE wait_event = 'advisory')::int AS turn,
           count(*) FILTER (WHERE wait_event IN ('CommitDelay', 'WALWrite', 'WalSync', 'WALSync', 'SyncRep'))::int AS flush
         FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'`,
      );
      sums.samples += 1;
      sums.turn += rows[0]?.turn ?? 0;
      sums.flush += rows[0]?.flush ?? 0;
      await sleep(SAMPLE_MS, over.signal);
    }
  })();
  try {
    const result = await work();
    over.abort();
    await sampling;
    const samples = Math.max(1, sums.samples);
    // The samples are transactions too.
    const commits = Math.max(0, (await committed(sql)) - before - sums.samples - 1);
    return {
      result,
      writers: { commits, waitingForTurn: sums.turn / samples, flushing: sums.flush / samples },
    };
  } finally {
    over.abort();
  }
}

/** Sessions report what they did at most once a second. */
async function committed(sql: pg.Pool): Promise<number> {
  await sleep(1_100);
  const { rows } = await sql.query<{ count: string }>(
    `SELECT pg_stat_force_next_flush(), xact_commit AS count FROM pg_stat_database WHERE datname = current_database()`,
  );
  return Number(rows[0]?.count ?? 0);
}
