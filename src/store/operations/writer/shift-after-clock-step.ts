/**
 * Moves the times of operations after the database's clock was stepped; ../../clock/clock-step.ts has the theory.
 * Rows written right after the step are on the new clock, and nothing distinguishes them, so every change is harmless for
 * them: a wait that ends early is only probed early, and a lease never ends later than a whole one from now.
 */
import type { Session } from '../../database/database.ts';
import { ACTIVE } from './write-rules.ts';

const LOCK_ACTIVE = `SELECT operation_id FROM operations WHERE ${ACTIVE} ORDER BY operation_id FOR NO KEY UPDATE`;

/** A lease ends after a whole lease at the latest, because its holder may be dead. */
const BACK = `
  WITH active AS MATERIALIZED (${LOCK_ACTIVE})
  UPDATE operations o SET deadline_at = deadline_at - $1 * interval '1 ms',
    due_at = CASE WHEN owner IS NULL THEN due_at - $1 * interval '1 ms'
    ELSE least(due_at, now() + $2 * interval '1 ms') END
  FROM active WHERE o.operation_id = active.operation_id`;

/**
 * A lease that seems to have ended may belong to a living holder: it gets a whole one. A wait goes on; what became due in
 * the last seconds was written on the new clock.
 */
const FORWARD = `
  WITH active AS MATERIALIZED (${LOCK_ACTIVE})
  UPDATE operations o SET deadline_at = deadline_at + $1 * interval '1 ms',
    due_at = CASE WHEN owner IS NOT NULL THEN greatest(due_at, now() + $2 * interval '1 ms')
    WHEN due_at > now() - $1 * interval '1 ms' AND due_at < now() - interval '10 s'
      THEN due_at + $1 * interval '1 ms'
    ELSE due_at END
  FROM active WHERE o.operation_id = active.operation_id`;

/** `stepMs` is negative after a step back. */
export async function shiftAfterClockStep(session: Session, stepMs: number, leaseMs: number): Promise<void> {
  if (stepMs < 0) await session.run('shift-operations-back', BACK, [-stepMs, leaseMs]);
  else await session.run('shift-operations-forward', FORWARD, [stepMs, leaseMs]);
}
