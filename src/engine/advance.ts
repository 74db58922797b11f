/**
 * The engine's decisions: from a job and what just happened to it to the next state of the job, its events, and whether the
 * lease is kept. Pure functions, so that every path can be tested in memory; run-job.ts carries the decisions out.
 *
 * A job moves forward through its steps. A cancel reverses it (compensating): it goes back over the steps that were started
 * and undoes those that can be undone.
 */
import type { Failure } from '../domain/error/failure.ts';
import { FAILURE_CLASSES } from '../domain/error/failure-class.ts';
import { createdResources, type Memo, type OperatorClaim, type Step } from '../domain/operation/step.ts';
import type { StepOwner, StepState } from '../domain/operation/step-state.ts';
import { type BackoffPolicy, backoffMs } from '../time/backoff.ts';
import type { Job, JobMove } from './job.ts';
import { MoveBuilder } from './move-builder.ts';
import { answered, type Outage, unansweredBy, waitingForAnswer } from './outage.ts';

/** The server's policy, and what the engine can't know about steps and subjects. */
export interface AdvanceRules<Change> {
  readonly backoff: BackoffPolicy;
  readonly maxUndoRetries: number;
  readonly maxDeaths: number;
  readonly canUndo: (step: Step) => boolean;
  /** What the end of a job does to its subject. */
  readonly onEnd: (job: Job) => Change | null;
  readonly merge: (first: Change, second: Change) => Change;
}

function merged<Change>(
  rules: AdvanceRules<Change>,
  first: Change | null,
  second: Change | null,
): Change | null {
  if (first === null || second === null) return first ?? second;
  return rules.merge(first, second);
}

export interface Clock {
  readonly now: Date;
  /** In [0, 1). */
  readonly random: number;
}

function currentStep(job: Job): Step {
  const step = job.steps[job.current];
  if (!step) throw new RangeError(`job ${job.id} has no step ${job.current}`);
  return step;
}

function startAttempt<Change>(builder: MoveBuilder<Change>, index: number, now: Date): MoveBuilder<Change> {
  const step = builder.job.steps[index];
  if (!step) throw new RangeError(`job ${builder.job.id} has no step ${index}`);
  const startedAt = now.toISOString();
  const fields = {
    attempts: step.attempts + 1,
    attemptStartedAt: startedAt,
    startedAt: step.startedAt ?? startedAt,
    finishedAt: null,
    message: '',
    progress: 0,
    unansweredMs: 0,
  };
  builder.with({ waitingFor: '' });
  if (step.state === 'running') return builder.progress(index, fields, `attempt ${fields.attempts}`);
  return builder.step(index, 'running', fields);
}

/** An attempt to undo has the step's whole time limit, whenever the step itself was started. */
function startUndo<Change>(builder: MoveBuilder<Change>, index: number, now: Date): MoveBuilder<Change> {
  return builder.withoutEvent(index, { attemptStartedAt: now.toISOString() });
}

/** What has to be written after a claim before the current step may run; null when nothing has to. */
export function startClaimed<Change>(
  job: Job,
  clock: Clock,
  rules: AdvanceRules<Change>,
): JobMove<Change> | null {
  if (job.deaths >= rules.maxDeaths) {
    return fail(job, clock, rules, {
      class: 'needs_human',
      code: 'HOLDER_DIED_REPEATEDLY',
      message: `the process died ${job.deaths} times while working on this step`,
    });
  }
  const builder = new MoveBuilder<Change>(job, clock.now);
  if (job.status === 'compensating') {
    if (currentStep(job).attemptStartedAt !== null) return null;
    return startUndo(builder, job.current, clock.now).move(null);
  }
  if (job.status === 'pending') builder.status('running', '');
  if (currentStep(job).attemptStartedAt === null) startAttempt(builder, job.current, clock.now);
  return builder.events.length > 0 ? builder.move(null) : null;
}

/** The current step's work is observed as done. */
export function succeed<Change>(
  job: Job,
  clock: Clock,
  rules: AdvanceRules<Change>,
  done: { message: string; change?: Change | undefined; claim?: OperatorClaim | undefined },
): JobMove<Change> {
  const builder = new MoveBuilder<Change>(job, clock.now);
  const fields = { message: done.message, progress: 100, unanswered: null, actedAt: null };
  builder.step(job.current, 'succeeded', fields, done.claim ? { claim: done.claim } : {});
  const adopting = job.adopting === 'asked' ? 'adopted' : job.adopting;
  builder.with({ current: job.current + 1, deaths: 0, waitingFor: '', adopting });
  if (builder.job.current < job.steps.length) {
    startAttempt(builder, builder.job.current, clock.now);
    return builder.move(null, done.change ?? null);
  }
  builder.with({ error: null }).status(adopting === 'adopted' ? 'reconciled' : 'completed', '');
  return builder.move(0, merged(rules, done.change ?? null, rules.onEnd(builder.job)));
}

/** The current step waits for something. There is an event only when the reason or the percentage changes. */
export function wait<Change>(
  job: Job,
  clock: Clock,
  waiting: {
    reason: string;
    pollAfterMs: number;
    progress?: number | undefined;
    change?: Change | undefined;
    acted?: true | undefined;
  },
): JobMove<Change> {
  const builder = new MoveBuilder<Change>(job, clock.now);
  const step = currentStep(job);
  const progress = Math.max(step.progress, Math.min(99, Math.floor(waiting.progress ?? step.progress)));
  builder.withoutEvent(job.current, {
    actedAt: waiting.acted ? clock.now.toISOString() : null,
    ...answered(step, clock.now),
  });
  builder.with({ waitingFor: waiting.reason, deaths: 0 });
  if (waiting.reason !== job.waitingFor || progress !== step.progress) {
    builder.progress(job.current, { progress, message: waiting.reason }, waiting.reason);
  }
  return builder.move(waiting.pollAfterMs, waiting.change ?? null);
}

/** Marks that the step has acted, in memory; the next move writes it. */
export function markActed(job: Job, now: Date): Job {
  return new MoveBuilder<never>(job, now).withoutEvent(job.current, { actedAt: now.toISOString() }).job;
}

/** The current step waits until it may act again; its reason for waiting stays. */
export function waitToActAgain<Change>(job: Job, clock: Clock, pollAfterMs: number): JobMove<Change> {
  return new MoveBuilder<Change>(job, clock.now).with({ deaths: 0 }).move(pollAfterMs);
}

/** The current step waits for an upstream that does not answer. */
export function awaitAnswer<Change>(
  job: Job,
  clock: Clock,
  { outage, acted, pollAfterMs }: { outage: Outage; acted: boolean; pollAfterMs: number },
): JobMove<Change> {
  const builder = new MoveBuilder<Change>(job, clock.now);
  const step = currentStep(job);
  const unanswered = unansweredBy(step, outage, clock.now);
  const reason = waitingForAnswer(unanswered);
  builder.withoutEvent(job.current, { unanswered, ...(acted && { actedAt: clock.now.toISOString() }) });
  builder.with({ waitingFor: reason, deaths: 0 });
  if (reason !== job.waitingFor) builder.progress(job.current, { message: reason }, reason);
  return builder.move(pollAfterMs);
}

/** What the current step must remember before it acts. */
export function remember<Change>(job: Job, clock: Clock, memo: Memo): JobMove<Change> {
  return new MoveBuilder<Change>(job, clock.now).withoutEvent(job.current, { memo }).move(null);
}

/** The current attempt failed: another attempt after a pause, or the end of the job. */
export function fail<Change>(
  job: Job,
  clock: Clock,
  rules: AdvanceRules<Change>,
  failure: Failure,
  change: Change | null = null,
): JobMove<Change> {
  const step = currentStep(job);
  const builder = new MoveBuilder<Change>(job, clock.now);
  const attempts = job.status === 'compensating' ? step.undoAttempts + 1 : step.attempts;
  const maxRetries = job.status === 'compensating' ? rules.maxUndoRetries : step.maxRetries;
  if (FAILURE_CLASSES[failure.class].retries && attempts <= maxRetries) {
    const pauseMs = backoffMs(rules.backoff, attempts, clock.random);
    const message = `attempt ${attempts} of ${maxRetries + 1} failed: ${failure.message}`;
    // The memo of a timed-out attempt still shows whether its effect happened late.
    const isLate = failure.code === 'TIMED_OUT';
    const memo = isLate ? step.memo : createdResources(step.memo);
    const kept = isLate ? {} : { unanswered: null, actedAt: null };
    const fields = { ...kept, ...(job.status === 'compensating' ? { undoAttempts: attempts } : { memo }) };
    builder.with({ waitingFor: `next attempt after: ${failure.message}` });
    builder.progress(job.current, { ...fields, attemptStartedAt: null, message }, message, {
      code: failure.code,
      class: failure.class,
    });
    return builder.move(pauseMs, change);
  }
  if (step.state === 'running') {
    builder.step(
      job.current,
      'failed',
      { message: failure.message },
      { code: failure.code, class: failure.class },
    );
  }
  const endsAs =
    job.status === 'compensating' ? 'failed_manual_intervention' : FAILURE_CLASSES[failure.class].endsAs;
  builder.with({
    error: {
      code: failure.code,
      message: failure.message,
      // Whether a client should repeat the same call: only a failure that can pass by itself is worth it.
      retryable: endsAs === 'failed_retryable' && FAILURE_CLASSES[failure.class].retries,
      failureClass: failure.class,
      step: step.name,
      attempts,
    },
  });
  if (builder.job.status === 'pending') builder.status('running', '');
  builder.status(endsAs, failure.message);
  return builder.move(0, merged(rules, change, rules.onEnd(builder.job)));
}

/** A cancel was requested, and this holder carries it out: undo what was started, or end where nothing was. */
export function startCancel<Change>(job: Job, clock: Clock, rules: AdvanceRules<Change>): JobMove<Change> {
  const builder = new MoveBuilder<Change>(job, clock.now);
  const actor = job.cancel?.actor ?? null;
  const reason = job.cancel?.reason ?? '';
  if (job.status === 'pending') {
    builder.status('cancelled', reason, actor);
    return builder.move(0, rules.onEnd(builder.job));
  }
  const last = lastToUndo(builder.job, builder.job.current, rules.canUndo);
  stopCurrent(builder, last);
  if (last === null) {
    builder.status('cancelled', reason, actor);
    return builder.move(0, rules.onEnd(builder.job));
  }
  builder.with({ current: last, waitingFor: '' }).status('compensating', reason, actor);
  return startUndo(builder, last, clock.now).move(null);
}

/** A cancel ends the current step, unless that step is the first one to undo. */
function stopCurrent<Change>(builder: MoveBuilder<Change>, last: number | null): void {
  const { current } = builder.job;
  const step = builder.job.steps[current];
  if (step?.state === 'running' && last !== current) builder.step(current, 'failed', { message: 'canceled' });
}

/** A failed step may be half done; only an operator's action leads to undoing it. */
const UNDOABLE: ReadonlySet<StepState> = new Set(['running', 'succeeded', 'failed']);

export function lastToUndo(job: Job, from: number, canUndo: (step: Step) => boolean): number | null {
  for (let index = Math.min(from, job.steps.length - 1); index >= 0; index -= 1) {
    const step = job.steps[index];
    if (step && UNDOABLE.has(step.state) && canUndo(step)) return index;
  }
  return null;
}

/** The current step is undone: go on with the one before it, or end. */
export function undone<Change>(
  job: Job,
  clock: Clock,
  rules: AdvanceRules<Change>,
  done: { message: string; change?: Change | undefined },
): JobMove<Change> {
  const builder = new MoveBuilder<Change>(job, clock.now);
  builder.step(job.current, 'undone', { message: done.message, memo: {} });
  const next = lastToUndo(builder.job, job.current - 1, rules.canUndo);
  builder.with({ deaths: 0, waitingFor: '' });
  if (next !== null) {
    return startUndo(builder.with({ current: next }), next, clock.now).move(null, done.change ?? null);
  }
  if (job.restarting && job.cancel === null) {
    return resetAllSteps(builder, 'engine')
      .status('pending', 'everything is undone')
      .move(0, done.change ?? null);
  }
  builder.status('cancelled', job.cancel?.reason ?? '', job.cancel?.actor ?? null);
  return builder.move(0, merged(rules, done.change ?? null, rules.onEnd(builder.job)));
}

/** Puts every step back to its state before the first start. */
export function resetAllSteps<Change>(builder: MoveBuilder<Change>, owner: StepOwner): MoveBuilder<Change> {
  builder.job.steps.forEach((step, index) => {
    if (step.state === 'waiting') return;
    const isUndone = step.state === 'undone' ? owner : 'operator';
    builder.step(index, 'waiting', resetStep(step), {}, isUndone);
  });
  return builder.with({ current: 0, error: null, waitingFor: '', deaths: 0, restarting: false });
}

/** A new round: effects of earlier attempts are not taken for this one's. */
export function resetStep({ round = 0, memo }: Step): Partial<Step> {
  return {
    attempts: 0,
    startedAt: null,
    attemptStartedAt: null,
    message: '',
    progress: 0,
    memo: createdResources(memo),
    claim: null,
    unanswered: null,
    actedAt: null,
    undoAttempts: 0,
    round: round + 1,
  };
}
