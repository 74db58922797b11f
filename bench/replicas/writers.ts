/** What the writers of events do while they are measured: how many wait for their turn, and how many for the flush. */
import type pg from 'pg';
import { sleep } from '../../src/time/sleep.ts';

const SAMPLE_MS = 10;

export interface Writers {
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
    return { result, writers: { waitingForTurn: sums.turn / samples, flushing: sums.flush / samples } };
  } finally {
    over.abort();
  }
}

/** Operations that one transaction has started, in the mean: their time is that of their transaction. */
export async function operationsPerTurn(sql: pg.Pool, prefix: string): Promise<number> {
  const { rows } = await sql.query<{ mean: number }>(
    `SELECT count(*)::float8 / greatest(count(DISTINCT created_at), 1) AS mean
     FROM operations WHERE machine_id LIKE $1 || '-%'`,
    [prefix],
  );
  return rows[0]?.mean ?? 0;
}

/** Sealing events into the audit chain is work of one replica, whichever it is: what one round leaves of it is not for the next one. */
export async function untilSealed(sql: pg.Pool): Promise<void> {
  for (;;) {
    const { rows } = await sql.query<{ sealed: boolean }>(
      `SELECT (SELECT max(event_id) FROM events) <=
         (SELECT last_event_id FROM audit_blocks ORDER BY block_no DESC LIMIT 1) AS sealed`,
    );
    if (rows[0]?.sealed === true) return;
    await sleep(SAMPLE_MS);
  }
}
