/**
 * A job that is claimed by the write that creates it. The replica that accepts a call has everything at hand to go on: it
 * writes the new row as held by itself, with its first step started, and runs it when that write is committed. A job whose
 * steps are all instant is created as ended: its whole work is rows, and they are written together.
 *
 * What is written is what a claim and the first records would have written one after the other, with the same events in the
 * same order. A crash before the commit leaves nothing; one after it leaves a held row whose lease expires.
 */
import { type AdvanceRules, type Clock, startClaimed, succeed } from './advance.ts';
import type { Job, JobMove } from './job.ts';

/** What an instant step does; null for a step that works outside of the store. */
export type InstantEnd<Change> = (
  step: Job['steps'][number],
) => { readonly message: string; readonly change?: Change } | null;

/** A new job up to its first step that is not instant, or to its end. */
export function startAtOnce<Change>(
  created: Job,
  clock: Clock,
  rules: AdvanceRules<Change>,
  instantEnd: InstantEnd<Change>,
): JobMove<Change> {
  let move = startClaimed(created, clock, rules);
  if (!move) throw new RangeError(`job ${created.id} is not new`);
  for (;;) {
    const step = move.job.steps[move.job.current];
    const end = step && move.releaseForMs === null ? instantEnd(step) : null;
    if (!end) return move;
    const next: JobMove<Change> = succeed(move.job, clock, rules, end);
    const change: Change | null =
      move.change === null || next.change === null
        ? (move.change ?? next.change)
        : rules.merge(move.change, next.change);
    move = { ...next, events: [...move.events, ...next.events], change };
  }
}

/** Claims of jobs that do not exist yet; the dispatcher makes them. */
export interface ClaimsAtStart<Change> {
  readonly owner: string;
  readonly leaseMs: number;
  /** To be called before the transaction that creates the jobs: their leases count from here. */
  open(): StartClaim<Change>;
}

/** The claims of one transaction. Exactly one of `committed` and `failed` ends them. */
export interface StartClaim<Change> {
  /** The job as it is created; null: this replica does not take it, and the job is created as pending. */
  claim(created: Job, now: Date): JobMove<Change> | null;
  /** Runs the jobs that are held. */
  committed(now: Date): void;
  /** A commit without an answer may have taken effect. */
  failed(error: unknown): void;
}
