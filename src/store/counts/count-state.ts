/**
 * Whether the counts are read. A reader adds deltas up, and mostly there are few. After an import, or the return from an earlier version, which
 * appends them and does not fold them, there are more than the machines are worth, until they are folded. Machines are counted one by one then: both
 * are exact, so only the cost decides, and figures here are those of measurements on a fleet of 40,000.
 */
import type { Session } from '../database/database.ts';

/** Whether the counts may be read: a check has counted what was there before the triggers were. */
export async function areCountsComplete(session: Session): Promise<boolean> {
  const [row] = await session.run<{ complete: boolean }>(
    'counts-complete',
    'SELECT complete FROM machine_count_state',
  );
  return row?.complete ?? false;
}

/** A delta of a cell costs as much as four machines, of which a page has fifteen; one that was folded, until vacuum, less than its page. */
const CELLS_READABLE = `
  SELECT complete AND CASE
    WHEN pg_relation_size('machine_cell_deltas') > 8e6 + pg_relation_size('machines') THEN false
    ELSE (SELECT count(*) FROM (SELECT FROM machine_cell_deltas LIMIT 1001 + pg_relation_size('machines') / 2048) AS deltas)
      <= 1000 + pg_relation_size('machines') / 2048
    END AS readable
  FROM machine_count_state`;

/** Whether cells may be read, and are cheaper than all machines. */
export async function areCellsReadable(session: Session): Promise<boolean> {
  const [row] = await session.run<{ readable: boolean }>('cells-readable', CELLS_READABLE);
  return row?.readable ?? false;
}

/** A delta of values costs as much as sixteen machines. */
const VALUES_READABLE = `
  SELECT CASE
    WHEN pg_relation_size('machine_value_deltas') > 1e6 + 512 * $1::bigint THEN false
    ELSE (SELECT count(*) FROM (SELECT FROM machine_value_deltas LIMIT 201 + $1::bigint / 16) AS deltas) <= 200 + $1::bigint / 16
    END AS readable`;

/** Whether lists of values are cheaper than so many machines. */
export async function areValuesReadable(session: Session, machines: number): Promise<boolean> {
  const [row] = await session.run<{ readable: boolean }>('values-readable', VALUES_READABLE, [machines]);
  return row?.readable ?? false;
}

/**
 * True: this replica checks now. One replica does in this time; a fleet that was never counted is due at once. What a check itself writes is
 * another row, so a claim neither fails a check that runs nor waits for it.
 */
export async function claimCheck(session: Session, everySeconds: number): Promise<boolean> {
  const rows = await session.run(
    'claim-count-check',
    `UPDATE machine_count_claim AS claim SET claimed_at = now() FROM machine_count_state AS state
     WHERE claimed_at < now() - CASE WHEN complete THEN $1 ELSE least($1, 60) END * interval '1 s'
       OR claimed_at > now() + interval '1 minute' RETURNING claim.singleton`,
    [everySeconds],
  );
  return rows.length > 0;
}
