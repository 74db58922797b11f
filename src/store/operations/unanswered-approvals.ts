import type { Session } from '../database/database.ts';

/** Operations that no one approved in time. As many at most as one pass decides. */
export async function unansweredApprovals(session: Session, limit: number): Promise<string[]> {
  const rows = await session.run<{ operation_id: string }>(
    'unanswered-approvals',
    `SELECT operation_id FROM operations
     WHERE status = 'pending' AND approval ->> 'state' = 'waiting' AND (approval ->> 'expiresAt')::timestamptz <= now()
     ORDER BY operation_id LIMIT $1`,
    [limit],
  );
  return rows.map((row) => row.operation_id);
}
