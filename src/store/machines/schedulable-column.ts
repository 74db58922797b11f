/** The rules of domain/machine/schedulable.ts over the columns of a machine, as one expression: the reason, or NULL. */
import {
  type SchedulableTest,
  UNSCHEDULABLE,
  UNSCHEDULABLE_REASONS,
} from '../../domain/machine/schedulable.ts';

function condition(test: SchedulableTest): string {
  if ('service' in test) return test.service === null ? 'service IS NULL' : `service = '${test.service}'`;
  if ('condition' in test) return `(conditions -> '${test.condition}' -> 'status') = 'true'`;
  if ('phase' in test) return `phase = '${test.phase}'`;
  if ('operation' in test) return 'active_operation_id IS NOT NULL';
  return `presence IS DISTINCT FROM '${test.presenceIsNot}'`;
}

export const UNSCHEDULABLE_COLUMN = `(CASE ${UNSCHEDULABLE_REASONS.map(
  (reason) => `WHEN ${condition(UNSCHEDULABLE[reason].test)} THEN '${reason}'`,
).join(' ')} END)`;

/** Schedulable machines are ready and active, and both have indexes: as the first terms they narrow the search. */
export const SCHEDULABLE_COLUMN = `(coalesce(presence = 'ready' AND service = 'active', false) AND ${UNSCHEDULABLE_COLUMN} IS NULL)`;
