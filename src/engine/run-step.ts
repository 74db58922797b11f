/**
 * One pass over one step: look, and act only if there is nothing to see. A pass ends by itself, by the
 * attempt's time-out, by a cancel, by a hand-over or because the lease is gone; only the first two say something
 * about the step, the others leave it to whoever has the job next.
 */
import type { Failure } from '../domain/error/failure.ts';
import { deadlineOf, type OperatorClaim, type Step } from '../domain/operation/step.ts';
import { StoreAway } from './job-store.ts';
import { LeaseLost } from './lease.ts';
import { type Outage, unansweredBy, waitingForAnswer } from './outage.ts';
import { type StepContext, StepFailure, type StepHandler } from './step-handler.ts';

export type PassOutcome<Change> =
  | {
      readonly outcome: 'done';
      readonly message: string;
      readonly change?: Change | undefined;
      readonly claim?: OperatorClaim | undefined;
    }
  | {
      readonly outcome: 'wait';
      readonly reason: string;
      readonly pollAfterMs: number;
      readonly progress?: number | undefined;
      readonly change?: Change | undefined;
      /** It has just acted. */
      readonly acted?: true;
    }
  /** Its effect is not seen yet, and it is too early to act again. */
  | { readonly outcome: 'held'; readonly pollAfterMs: number }
  | {
      readonly outcome: 'unanswered';
      readonly outage: Outage;
      readonly failure: Failure;
      readonly during: 'probe' | 'act' | 'undo';
    }
  | { readonly outcome: 'failed'; readonly failure: Failure; readonly change?: Change | undefined }
  | { readonly outcome: 'interrupted' };

/** Why a pass was stopped from outside. */
export type Interruption = 'cancel' | 'handover' | 'lease_lost' | 'timeout';

export class Interrupted extends Error {
  readonly why: Interruption;

  constructor(why: Interruption) {
    super(`interrupted: ${why}`);
    this.name = 'Interrupted';
    this.why = why;
  }
}

/** With what it was last seen waiting for: that is what an operator has to check. */
export function timedOut({ timeoutSeconds, message }: Step): Failure {
  const waiting = message === '' ? '' : ` (${message})`;
  return { class: 'retryable', code: 'TIMED_OUT', message: `not done within ${timeoutSeconds} s${waiting}` };
}

/** Only what has just been set off may be probed again at once: a holder that polls lets go of the job in between. */
export const MIN_WAIT_MS = 1;

/** To adopt is to say that the work is done; where it is seen not to be, nothing is done behind the operator's back. */
const NOTHING_TO_ADOPT: Failure = {
  class: 'needs_human',
  code: 'NOTHING_TO_ADOPT',
  message: 'the step’s work is not seen to be done, so there is nothing to adopt',
};

export interface PassOptions {
  /** Only probe: an operator wants the observed state to be accepted. */
  readonly adopts: boolean;
  readonly onUnexpected: (error: unknown) => void;
  readonly now: () => Date;
  /** No sooner than this an act is repeated whose effect is not seen. */
  readonly repeatActMs: number;
}

/** Meanwhile it is probed this often. */
const HELD_PROBE_MS = 1_000;

export async function runForward<Change>(
  handler: StepHandler<Change>,
  context: StepContext,
  step: Step,
  options: PassOptions,
): Promise<PassOutcome<Change>> {
  const act = async (pass: Pass, next?: true): Promise<PassOutcome<Change>> => {
    if (isOverdue(step, options.now())) return { outcome: 'failed', failure: timedOut(step) };
    const tooEarlyMs = next ? 0 : msToNextAct(step, options);
    if (tooEarlyMs > 0) return { outcome: 'held', pollAfterMs: Math.min(tooEarlyMs, HELD_PROBE_MS) };
    pass.during = 'act';
    const outcome = outcomeOf(await handler.act(context));
    return outcome.outcome === 'wait' ? { ...outcome, acted: true } : outcome;
  };
  return guarded(context, step, options, async (pass) => {
    const seen = await handler.observe(context);
    switch (seen.seen) {
      case 'done':
        return { outcome: 'done', message: seen.message, change: seen.change };
      case 'failed':
        if (options.adopts) return { outcome: 'failed', failure: NOTHING_TO_ADOPT };
        return { outcome: 'failed', failure: seen.failure, change: seen.change };
      case 'under_way':
        if (isOverdue(step, options.now())) return { outcome: 'failed', failure: timedOut(step) };
        return {
          outcome: 'wait',
          reason: seen.reason,
          pollAfterMs: Math.max(MIN_WAIT_MS, seen.pollAfterMs),
          progress: seen.progress,
        };
      case 'absent':
        if (options.adopts) return { outcome: 'failed', failure: NOTHING_TO_ADOPT };
        return act(pass, seen.next);
      case 'unobservable':
        if (options.adopts) return claimed(step);
        if (seen.failure !== null) return { outcome: 'failed', failure: seen.failure };
        return act(pass, seen.next);
    }
  });
}

/** Where nothing can be observed the operator's word counts, and is recorded as such. The system itself has none. */
function claimed<Change>({ claim }: Step): PassOutcome<Change> {
  if (!claim) return { outcome: 'failed', failure: NOTHING_TO_ADOPT };
  return { outcome: 'done', message: `claimed done by ${claim.by}: ${claim.reason}`, claim };
}

export async function runBackward<Change>(
  undo: NonNullable<StepHandler<Change>['undo']>,
  context: StepContext,
  step: Step,
  options: PassOptions,
): Promise<PassOutcome<Change>> {
  return guarded(context, step, options, async (pass) => {
    pass.during = 'undo';
    const outcome = outcomeOf(await undo(context));
    if (outcome.outcome !== 'wait') return outcome;
    if (isOverdue(step, options.now())) return { outcome: 'failed', failure: timedOut(step) };
    return { ...outcome, pollAfterMs: Math.max(MIN_WAIT_MS, outcome.pollAfterMs) };
  });
}

function outcomeOf<Change>(acted: Awaited<ReturnType<StepHandler<Change>['act']>>): PassOutcome<Change> {
  switch (acted.result) {
    case 'done':
      return { outcome: 'done', message: acted.message, change: acted.change };
    case 'started':
      return {
        outcome: 'wait',
        reason: acted.reason,
        pollAfterMs: acted.pollAfterMs,
        change: acted.change,
      };
    case 'failed':
      return { outcome: 'failed', failure: acted.failure, change: acted.change };
  }
}

/** What a handler that ran out of time says of its effect counts for more than that its time is over. */
function unknownEffect(error: unknown): Failure | null {
  return error instanceof StepFailure && error.failure.class === 'effect_unknown' ? error.failure : null;
}

function isOverdue(step: Step, now: Date): boolean {
  const deadline = deadlineOf(step);
  return deadline !== null && now.getTime() >= deadline;
}

function msToNextAct({ actedAt }: Step, { now, repeatActMs }: PassOptions): number {
  return actedAt ? Date.parse(actedAt) + repeatActMs - now().getTime() : 0;
}

/** What a pass was doing when it threw. */
interface Pass {
  during: 'probe' | 'act' | 'undo';
}

async function guarded<Change>(
  context: StepContext,
  step: Step,
  options: PassOptions,
  work: (pass: Pass) => Promise<PassOutcome<Change>>,
): Promise<PassOutcome<Change>> {
  const pass: Pass = { during: 'probe' };
  try {
    return await work(pass);
  } catch (error) {
    // Neither says anything about the step.
    if (error instanceof LeaseLost || error instanceof StoreAway) throw error;
    if (context.signal.aborted) {
      const why = context.signal.reason instanceof Interrupted ? context.signal.reason.why : 'cancel';
      if (why === 'timeout') return { outcome: 'failed', failure: unknownEffect(error) ?? timedOut(step) };
      return { outcome: 'interrupted' };
    }
    if (error instanceof StepFailure) return unansweredOr(error, pass, step, options);
    options.onUnexpected(error);
    return {
      outcome: 'failed',
      failure: {
        class: 'retryable',
        code: 'INTERNAL',
        message: 'unexpected error in this step; the server log has the cause',
      },
    };
  }
}

/** An upstream that does not answer is waited for, until the step's own limit. */
function unansweredOr<Change>(
  { failure, outage }: StepFailure,
  { during }: Pass,
  step: Step,
  { now }: PassOptions,
): PassOutcome<Change> {
  if (outage === null) return { outcome: 'failed', failure };
  if (!isOverdue(step, now())) return { outcome: 'unanswered', outage, failure, during };
  const message = waitingForAnswer(unansweredBy(step, outage, now()));
  return { outcome: 'failed', failure: timedOut({ ...step, message }) };
}
