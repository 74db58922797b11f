import type { Session } from '../database/database.ts';

/** Whether the counts may be read: a check has counted what was there before the triggers were. */
export async function areCountsComplete(session: Session): Promise<boolean> {
  const [row] = await session.run<{ complete: boolean }>(
    'counts-complete',
    'SELECT complete FROM machine_count_state',
  );
  return row?.complete ?? false;
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
