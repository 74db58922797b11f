import type { Session } from '../../database/database.ts';
import { ACTIVE } from './write-rules.ts';

const EXTEND = `
  WITH held AS MATERIALIZED (
    SELECT operation_id FROM operations
    WHERE ${ACTIVE} AND owner IS NOT NULL AND due_at < now() + $1 * interval '1 ms'
    ORDER BY operation_id FOR NO KEY UPDATE)
  UPDATE operations o SET due_at = now() + $1 * interval '1 ms' FROM held WHERE o.operation_id = held.operation_id`;

/** For this long no replica takes over a lease of another one; the clock by which it ends is not trusted yet. */
export async function extendLeases(session: Session, forMs: number): Promise<void> {
  await session.run('extend-leases', EXTEND, [forMs]);
}
