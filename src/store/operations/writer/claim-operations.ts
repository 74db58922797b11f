/** Takes due operations for an owner: the one way to become a holder. */
import type { Job } from '../../../engine/job.ts';
import type { DeathCount } from '../../../engine/job-store.ts';
import type { DatabaseTime } from '../../clock/database-clock.ts';
import type { Session } from '../../database/database.ts';
import { ENGINE_COLUMNS, type EngineRow, jobOf } from './engine-row.ts';
import { ACTIVE, AWAITS_APPROVAL } from './write-rules.ts';

/** $4 is ahead of now() unless the clock was just stepped forward: what only the step made due is not due yet. */
const claimOf = (which: string) => `
  UPDATE operations SET owner = $1, epoch = epoch + 1, due_at = now() + $3 * interval '1 ms',
    deaths = deaths + CASE WHEN owner IS NULL OR owner = $1 OR $5 = 'not_counted' THEN 0 ELSE 1 END
  WHERE operation_id IN (
    SELECT operation_id FROM operations WHERE ${ACTIVE} AND due_at <= least(now(), $4)
      AND NOT ${AWAITS_APPROVAL} ${which}
    LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)
  RETURNING ${ENGINE_COLUMNS}`;

const CLAIMS = {
  'claim-due': claimOf('ORDER BY due_at'),
  'claim-overdue': claimOf('AND deadline_at <= least(now(), $4) ORDER BY deadline_at'),
} as const;

export interface Claim {
  readonly owner: string;
  readonly limit: number;
  readonly leaseMs: number;
  readonly deaths: DeathCount;
}

export async function claimOperations(
  session: Session,
  which: keyof typeof CLAIMS,
  { owner, limit, leaseMs, deaths }: Claim,
  clock: DatabaseTime,
): Promise<Job[]> {
  const values = [owner, limit, leaseMs, clock.latest(), deaths];
  const rows = await session.run<EngineRow & Record<string, unknown>>(which, CLAIMS[which], values);
  const { steppedMs } = clock;
  return rows.map((row) => onCurrentClock(jobOf(row), steppedMs));
}

/** Moves the start of each attempt by the clock steps since it was written, so that no time limit is cut or stretched. */
function onCurrentClock(operation: Job, steppedMs: number): Job {
  const sinceMs = steppedMs - operation.clockMs;
  if (sinceMs === 0) return operation;
  const steps = operation.steps.map((step) => {
    if (step.attemptStartedAt === null) return step;
    const attemptStartedAt = new Date(Date.parse(step.attemptStartedAt) + sinceMs).toISOString();
    return { ...step, attemptStartedAt };
  });
  return { ...operation, steps, clockMs: steppedMs };
}

const NEXT_DUE = `
  SELECT (extract(epoch FROM min(due_at) - least(clock_timestamp(), $1)) * 1000)::float8 AS due_in
  FROM operations WHERE ${ACTIVE} AND isfinite(due_at) AND NOT ${AWAITS_APPROVAL}`;

/** How long until some operation becomes due; null when none will. */
export async function msToNextDue(session: Session, clock: DatabaseTime): Promise<number | null> {
  const [next] = await session.run<{ due_in: number | null }>('next-due', NEXT_DUE, [clock.latest()]);
  return next?.due_in ?? null;
}
