import type { Session } from '../../database/database.ts';
import { ACTIVE } from './write-rules.ts';

const RELEASE_UNKNOWN = `
  WITH held AS MATERIALIZED (
    SELECT operation_id FROM operations WHERE ${ACTIVE} AND owner = $1 AND operation_id <> ALL($2::text[])
    ORDER BY operation_id FOR NO KEY UPDATE)
  UPDATE operations o SET due_at = now(), owner = NULL FROM held WHERE o.operation_id = held.operation_id`;

/**
 * Releases every lease of the owner except those that it knows of: the answer to one of its claims was lost. The owner alone
 * is the fence here, because it has no epoch to name; it claims nothing while this runs.
 */
export async function releaseUnknownLeases(
  session: Session,
  owner: string,
  known: readonly string[],
): Promise<void> {
  await session.run('release-unknown-leases', RELEASE_UNKNOWN, [owner, known]);
}
