/** How long operations took, by their type, and approvals of waves, in the caller's scope: what estimates are made from. */
import type { Scope } from '../../domain/access/scope.ts';
import type { OperationType } from '../../domain/operation/operation-type.ts';
import type { DurationHistory, TypeDuration } from '../../domain/rollout/estimate.ts';
import type { Session } from '../database/database.ts';
import { inScope, preparedAs } from '../filter/scope-condition.ts';
import { rolloutsVisibleTo } from '../rollouts/rollouts-at-a-glance.ts';

/** Only the newest are read: the cost is the same however long the history is. */
const NEWEST = 100_000;

const durations = (within: string) => `
  SELECT type, count(*)::integer AS samples,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50, percentile_cont(0.9) WITHIN GROUP (ORDER BY seconds) AS p90
  FROM (
    SELECT type, finished_at, extract(epoch FROM finished_at - started_at)::double precision AS seconds
    FROM operations WHERE ingot_operation_phase(status) = 'SUCCEEDED' AND ${within} ORDER BY operation_id DESC LIMIT ${NEWEST}) AS newest
  WHERE type = ANY($1) AND finished_at > now() - interval '90 days' AND seconds IS NOT NULL
  GROUP BY type`;

export async function operationDurations(
  session: Session,
  types: readonly OperationType[],
  scope: Scope | null,
): Promise<DurationHistory['types']> {
  const { text, values } = inScope(scope, 'machine_id', 2);
  const rows = await session.run<{ type: OperationType; samples: number; p50: number; p90: number }>(
    preparedAs('operation-durations', scope),
    durations(text),
    [types, ...values],
  );
  return new Map(
    rows.map(({ type, samples, p50, p90 }) => [type, { samples, p50Seconds: p50, p90Seconds: p90 }]),
  );
}

/** A wave waits from the end of the wave before it and its soak time, or from the start of the rollout. */
const approvals = (within: string) => `
  SELECT count(*)::integer AS samples,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50, percentile_cont(0.9) WITHIN GROUP (ORDER BY seconds) AS p90
  FROM (
    SELECT greatest(0, extract(epoch FROM w.approved_at - coalesce(b.soaks_until, b.finished_at, r.started_at, r.created_at)))
      ::double precision AS seconds
    FROM rollouts r JOIN rollout_waves w USING (rollout_id)
    LEFT JOIN rollout_waves b ON b.rollout_id = w.rollout_id AND b.number = w.number - 1
    WHERE r.created_at > now() - interval '90 days' AND w.approved_at IS NOT NULL AND ${within}
    ORDER BY r.created_at DESC LIMIT 1000) AS newest`;

/** Null: none was approved in the last 90 days. */
export async function approvalDuration(session: Session, scope: Scope | null): Promise<TypeDuration | null> {
  const { text, values } = rolloutsVisibleTo(scope, 1);
  const [row] = await session.run<{ samples: number; p50: number; p90: number }>(
    preparedAs('approval-duration', scope),
    approvals(text),
    [...values],
  );
  return row && row.samples > 0 ? { samples: row.samples, p50Seconds: row.p50, p90Seconds: row.p90 } : null;
}
