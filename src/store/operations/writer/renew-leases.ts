import type { LeaseRef } from '../../../engine/job-store.ts';
import type { Session } from '../../database/database.ts';
import { ACTIVE } from './write-rules.ts';

const RENEW = `
  WITH held AS MATERIALIZED (
    SELECT o.operation_id FROM operations o
    JOIN unnest($2::text[], $3::bigint[]) AS i(operation_id, epoch) USING (operation_id)
    WHERE o.epoch = i.epoch AND o.owner = $1 AND ${ACTIVE}
    ORDER BY o.operation_id FOR NO KEY UPDATE OF o)
  UPDATE operations o SET due_at = now() + $4 * interval '1 ms' FROM held
  WHERE o.operation_id = held.operation_id RETURNING o.operation_id`;

/** Returns the ids that the owner still holds. */
export async function renewLeases(
  session: Session,
  owner: string,
  leases: readonly LeaseRef[],
  leaseMs: number,
): Promise<ReadonlySet<string>> {
  const values = [owner, leases.map(({ id }) => id), leases.map(({ epoch }) => epoch), leaseMs];
  const rows = await session.run<{ operation_id: string }>('renew-leases', RENEW, values);
  return new Set(rows.map((row) => row.operation_id));
}
