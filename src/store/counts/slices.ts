/** Reads of large tables in parts of one snapshot, so that no statement takes long. */
import type { Session } from '../database/database.ts';

/** Machines of one slice. */
const SLICE = 20_000;

/** The machines of the next slice; the first parameter is the last id of the slice before it, and at first the empty text. */
export const IN_SLICE = `FROM machines WHERE machine_id > $1 ORDER BY machine_id LIMIT ${SLICE}`;

/** `read` returns the last id of the slice after the one that it is given; null: there is none. False: it was stopped. */
export async function eachSlice(
  stopping: AbortSignal,
  read: (after: string) => Promise<string | null>,
): Promise<boolean> {
  for (let after: string | null = ''; after !== null; ) {
    if (stopping.aborted) return false;
    after = await read(after);
  }
  return true;
}

/** Rows of pages, by the parameters of each range. PostgreSQL 13 reads the whole table for each of them. */
export const IN_PAGES = 'ctid >= $1::text::tid AND ctid < $2::text::tid';

/** About 100,000 deltas, or 200,000 values. */
const PAGES = 2_048;

/** Of what the snapshot has: pages that a table gets later have newer rows only. */
export async function pageRanges(session: Session, table: string): Promise<(readonly [string, string])[]> {
  const [row] = await session.run<{ pages: number }>(
    'table-pages',
    `SELECT pg_relation_size($1::text::regclass) / current_setting('block_size')::bigint AS pages`,
    [table],
  );
  const ranges = Math.ceil((row?.pages ?? 0) / PAGES);
  return Array.from({ length: ranges }, (_none, index) => [
    `(${index * PAGES},0)`,
    `(${(index + 1) * PAGES},0)`,
  ]);
}
