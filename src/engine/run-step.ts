/**
 * One pass over one step: probe, and act only where nothing is found. A pass ends by itself, by the attempt's timeout, by a
 * cancel, by a handover or with the loss of the lease. Only the first two are an outcome of the step; the others leave it to
 * the next holder.
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
      /** The step has just acted. */
      readonly acted?: true;
    }
  /** The effect is not visible yet, and it is too early to act again. */
  | { readonly outcome: 'too_early'; readonly pollAfterMs: number }
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

/** The message has what the step last waited for: that is what an operator has to check. */
export function timedOut({ timeoutSeconds, message }: Step): Failure {
  const waiting = message === '' ? '' : ` (${message})`;
  return { class: 'retryable', code: 'TIMED_OUT', message: `not done within ${timeoutSeconds} s${waiting}` };
}

/** Only an act may be followed by a probe at once: a holder that polls releases the job in between. */
export const MIN_WAIT_MS = 1;

/** To adopt is to state that the work is done; where a probe shows that it is not, adopting fails and nothing acts. */
const NOTHING_TO_ADOPT: Failure = {
  class: 'needs_human',
  code: 'NOTHING_TO_ADOPT',
  message: "the step's work is not done, so there is nothing to adopt",
};

export interface PassOptions {
  /** Only probe: an operator wants the observed state to be accepted. */
  readonly adopts: boolean;
  readonly onUnexpected: (error: unknown) => void;
  readonly now: () => Date;
  /** An act whose effect is not visible is repeated no sooner than this. */
  readonly repeatActMs: number;
}

/** How often the effect is probed until the act may be repeated. */
const TOO_EARLY_PROBE_MS = 1_000;

export async function runForward<Change>(
  handler: StepHandler<Change>,
  context: StepContext,
  step: Step,
  options: PassOptions,
): Promise<PassOutcome<Change>> {
  const act = async (pass: Pass, next?: true): Promise<PassOutcome<Change>> => {
    if (isOverdue(step, options.now())) return { outcome: 'failed', failure: timedOut(step) };
    const waitMs = next ? 0 : msToNextAct(step, options);
    if (waitMs > 0) return { outcome: 'too_early', pollAfterMs: Math.min(waitMs, TOO_EARLY_PROBE_MS) };
    pass.during = 'act';
    const outcome = outcomeOf(await handler.act(context));
    return outcome.outcome === 'wait' ? { acted: true, ...outcome } : outcome;
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

/** Where nothing can be observed, the claim of an operator counts and is recorded as one. The system itself makes none. */
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

/** That an effect is unknown is more important than that the time is over. */
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
    // Neither is an outcome of the step.
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
