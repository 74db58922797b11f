import { isActive } from '../../../domain/operation/operation-status.ts';
import { deadlineOf } from '../../../domain/operation/step.ts';
import type { Job } from '../../../engine/job.ts';

/** When the current attempt has used up its time limit, as it is stored. */
export function deadlineAt({ status, steps, current }: Job): string | null {
  const step = steps[current];
  const deadline = step && isActive(status) ? deadlineOf(step) : null;
  return deadline === null ? null : new Date(deadline).toISOString();
}
