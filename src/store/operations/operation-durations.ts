/** How long operations took, by their type: what estimates are made from. */
import type { OperationType } from '../../domain/operation/operation-type.ts';
import type { DurationsByType } from '../../domain/rollout/estimate.ts';
import type { Session } from '../database/database.ts';

/** Only the newest are read: the cost is the same however long the history is. */
const NEWEST = 100_000;

const DURATIONS = `
  SELECT type, count(*)::integer AS samples,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50, percentile_cont(0.9) WITHIN GROUP (ORDER BY seconds) AS p90
  FROM (
    SELECT type, finished_at, extract(epoch FROM finished_at - started_at)::double precision AS seconds
    FROM operations WHERE ingot_operation_phase(status) = 'SUCCEEDED' ORDER BY operation_id DESC LIMIT ${NEWEST}) AS newest
  WHERE type = ANY($1) AND finished_at > now() - interval '90 days' AND seconds IS NOT NULL
  GROUP BY type`;

export async function operationDurations(
  session: Session,
  types: readonly OperationType[],
): Promise<DurationsByType> {
  const rows = await session.run<{ type: OperationType; samples: number; p50: number; p90: number }>(
    'operation-durations',
    DURATIONS,
    [types],
  );
  return new Map(
    rows.map(({ type, samples, p50, p90 }) => [type, { samples, p50Seconds: p50, p90Seconds: p90 }]),
  );
}
