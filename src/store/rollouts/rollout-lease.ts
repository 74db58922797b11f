/**
 * The right to execute a rollout. A claim writes the owner and adds one to the epoch; so does every act of a person, which keeps
 * the owner. A decision names the epoch that it was made with, so that nothing starts by a decision that an act, or another
 * holder, has overtaken. Only the database's clock decides whether a lease has ended.
 */
import type { Session } from '../database/database.ts';

const CLAIM = `
  UPDATE rollouts SET owner = $1, epoch = epoch + 1, lease_until = now() + $2 * interval '1 ms'
  WHERE rollout_id IN (
    SELECT rollout_id FROM rollouts WHERE finished_at IS NULL AND (owner IS NULL OR lease_until < now())
    LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED)
  RETURNING rollout_id`;

export interface LeaseCall {
  readonly owner: string;
  readonly leaseMs: number;
}

/** Rollouts that no live replica executes; at most so many. */
export async function claimRollouts(
  session: Session,
  { owner, leaseMs, limit }: LeaseCall & { readonly limit: number },
): Promise<string[]> {
  const rows = await session.run<{ rollout_id: string }>('claim-rollouts', CLAIM, [owner, leaseMs, limit]);
  return rows.map(({ rollout_id }) => rollout_id);
}

/** Those that the owner still holds. */
export async function renewRollouts(session: Session, { owner, leaseMs }: LeaseCall): Promise<string[]> {
  const rows = await session.run<{ rollout_id: string }>(
    'renew-rollouts',
    `UPDATE rollouts SET lease_until = now() + $2 * interval '1 ms' WHERE owner = $1 AND finished_at IS NULL
     RETURNING rollout_id`,
    [owner, leaseMs],
  );
  return rows.map(({ rollout_id }) => rollout_id);
}

/** Lets another replica take over at once. */
export async function releaseRollouts(session: Session, owner: string): Promise<void> {
  await session.run(
    'release-rollouts',
    `WITH released AS (
       UPDATE rollouts SET owner = NULL, epoch = epoch + 1 WHERE owner = $1 AND finished_at IS NULL RETURNING 1)
     SELECT pg_notify('ingot', 'rollouts') FROM released LIMIT 1`,
    [owner],
  );
}
