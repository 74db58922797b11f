import type { Session } from '../database/database.ts';

/** Ends of the last 24 hours by phase, to the minute. */
const ENDED = `
  SELECT phase AS name, sum(operations)::bigint AS operations FROM (
    SELECT phase, operations FROM operation_end_counts WHERE minute > now() - interval '24 hours'
    UNION ALL SELECT phase, operations FROM operation_end_deltas WHERE minute > now() - interval '24 hours') AS ends
  GROUP BY phase HAVING sum(operations) <> 0 ORDER BY phase`;

export async function countEnds(session: Session): Promise<Record<string, number>> {
  const rows = await session.run<{ name: string; operations: number }>('counted-ends', ENDED);
  return Object.fromEntries(rows.map((row) => [row.name, row.operations]));
}
