import type { ReleasedLease } from '../../../engine/job-store.ts';
import type { Session } from '../../database/database.ts';
import { ACTIVE } from './write-rules.ts';

/** A holder that was cut off may find its row held by another owner: then only the death that this counted is taken back. */
const RELEASE = `
  WITH input AS MATERIALIZED (
    SELECT DISTINCT ON (operation_id) * FROM unnest($2::text[], $3::bigint[], $4::text[]) AS i(operation_id, epoch, why)
    ORDER BY operation_id, epoch DESC),
  held AS MATERIALIZED (
    SELECT o.operation_id, o.epoch = i.epoch AS is_ours, i.why FROM operations o JOIN input i USING (operation_id)
    WHERE ${ACTIVE} AND (o.epoch = i.epoch AND o.owner = $1
      OR i.why = 'cut_off' AND o.epoch > i.epoch AND o.owner IS DISTINCT FROM $1 AND o.deaths > 0)
    ORDER BY o.operation_id FOR NO KEY UPDATE OF o)
  UPDATE operations o SET due_at = CASE WHEN held.is_ours THEN now() ELSE o.due_at END,
    owner = CASE WHEN held.is_ours THEN NULL ELSE o.owner END,
    deaths = o.deaths + CASE WHEN NOT held.is_ours THEN -1 WHEN held.why = 'broken' THEN 1 ELSE 0 END
  FROM held WHERE o.operation_id = held.operation_id`;

/** Makes the operations due at once, for any replica. */
export async function releaseLeases(
  session: Session,
  owner: string,
  leases: readonly ReleasedLease[],
): Promise<void> {
  await session.run('release-leases', RELEASE, [
    owner,
    leases.map(({ id }) => id),
    leases.map(({ epoch }) => epoch),
    leases.map(({ why }) => why),
  ]);
}
