/**
 * A job that starts with its claim: a claim writes the row of a job that has not started, so it writes the start too, and not the
 * row a second time right after it. A crash before the commit leaves neither, and one after it what a claim and the record of a
 * start would have left.
 */
import { type AdvanceRules, startClaimed } from './advance.ts';
import type { Job } from './job.ts';
import type { ClaimedStart } from './job-store.ts';

export interface StartDependencies<Change> {
  readonly rules: AdvanceRules<Change>;
  readonly isInstant: (step: Job['steps'][number]) => boolean;
  readonly random: () => number;
}

/**
 * What a claim may write: a start that keeps the lease and leaves the subject alone. The rest is the holder's, who records it by
 * itself: a job that ends at its start, one to cancel, and an instant step, whose start is written with its end.
 */
export function startWithClaim<Change>({
  rules,
  isInstant,
  random,
}: StartDependencies<Change>): ClaimedStart<Change> {
  return (job, now) => {
    if (job.cancel !== null && job.status !== 'compensating') return null;
    const move = startClaimed(job, { now, random: random() }, rules);
    if (move === null || move.releaseForMs !== null || move.change !== null) return null;
    const step = move.job.steps[move.job.current];
    return step && isInstant(step) ? null : move;
  };
}
