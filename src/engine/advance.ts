/**
 * The engine's decisions, without its hands: given a job and what just happened to it, the next state of the
 * job, the events to tell, and whether the lease is kept. Pure, so that every path can be tested in memory.
 *
 * A job moves forward through its steps; a cancel turns it around (compensating) and it walks back over the
 * steps that were begun, undoing those that can be undone.
 */
import type { Actor } from '../domain/actor.ts';
import type { Failure } from '../domain/error/failure.ts';
import { FAILURE_CLASSES } from '../domain/error/failure-class.ts';
import { checkTransition } from '../domain/lifecycle/lifecycle.ts';
import {
  type JobOwner,
  type OperationStatus,
  operationLifecycle,
} from '../domain/operation/operation-status.ts';
import { createdResources, type Memo, type OperatorClaim, type Step } from '../domain/operation/step.ts';
import { type StepOwner, type StepState, stepLifecycle } from '../domain/operation/step-state.ts';
import { type BackoffPolicy, backoffMs } from '../time/backoff.ts';
import type { Job, JobEvent, JobMove } from './job.ts';
import { answered, type Outage, unansweredBy, waitingForAnswer } from './outage.ts';

/** The server's policy, and what the engine must be told about a world that it does not know. */
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

/** Collects the parts of one move; every status and step change goes through the lifecycle tables. */
export class MoveBuilder<Change> {
  job: Job;
  readonly events: JobEvent[] = [];
  readonly #now: string;

  constructor(job: Job, now: Date) {
    this.job = job;
    this.#now = now.toISOString();
  }

  status(
    to: OperationStatus,
    comment: string,
    actor: Actor | null = null,
    owner: JobOwner = 'engine',
    metadata: Record<string, unknown> = {},
  ): this {
    const from = this.job.status;
    checkTransition(operationLifecycle, from, to, owner);
    const ended = !['pending', 'running', 'compensating'].includes(to);
    this.job = {
      ...this.job,
      status: to,
      startedAt: this.job.startedAt ?? (to === 'running' ? this.#now : null),
      finishedAt: ended ? this.#now : null,
      waitingFor: ended ? '' : this.job.waitingFor,
    };
    this.events.push({
      kind: 'operation',
      subject: this.job.type,
      from,
      to,
      comment,
      metadata,
      actor,
      after: this.job,
    });
    return this;
  }

  step(
    index: number,
    state: StepState,
    fields: Partial<Step>,
    metadata: Record<string, unknown> = {},
    owner: StepOwner = 'engine',
  ): this {
    const step = this.#stepAt(index);
    checkTransition(stepLifecycle, step.state, state, owner);
    const finishedAt = state === 'running' || state === 'waiting' ? null : this.#now;
    const next = { ...step, finishedAt, ...fields, state };
    this.#put(index, next);
    this.events.push({
      kind: 'step',
      subject: step.name,
      from: step.state,
      to: state,
      comment: next.message,
      metadata: { attempt: next.attempts, ...metadata },
      actor: null,
      after: this.job,
    });
    return this;
  }

  /** Something about a step changed, but not its state. */
  progress(
    index: number,
    fields: Partial<Step>,
    comment: string,
    metadata: Record<string, unknown> = {},
  ): this {
    const step = this.#stepAt(index);
    const next = { ...step, ...fields };
    this.#put(index, next);
    this.events.push({
      kind: 'progress',
      subject: step.name,
      from: step.state,
      to: step.state,
      comment,
      metadata: { attempt: next.attempts, progress: next.progress, ...metadata },
      actor: null,
      after: this.job,
    });
    return this;
  }

  /** Changes a step without telling anybody. */
  quietly(index: number, fields: Partial<Step>): this {
    this.#put(index, { ...this.#stepAt(index), ...fields });
    return this;
  }

  with(
    fields: Partial<
      Pick<Job, 'current' | 'error' | 'waitingFor' | 'deaths' | 'adopting' | 'restarting' | 'cancel'>
    >,
  ): this {
    this.job = { ...this.job, ...fields };
    return this;
  }

  move(releaseForMs: number | null, change: Change | null = null): JobMove<Change> {
    return { job: this.job, events: this.events, change, releaseForMs };
  }

  #stepAt(index: number): Step {
    const step = this.job.steps[index];
    if (!step) throw new RangeError(`job ${this.job.id} has no step ${index}`);
    return step;
  }

  #put(index: number, step: Step): void {
    this.job = { ...this.job, steps: this.job.steps.with(index, step) };
  }
}

function currentStep(job: Job): Step {
  const step = job.steps[job.current];
  if (!step) throw new RangeError(`job ${job.id} has no step ${job.current}`);
  return step;
}

function beginAttempt<Change>(draft: MoveBuilder<Change>, index: number, now: Date): MoveBuilder<Change> {
  const step = draft.job.steps[index];
  if (!step) throw new RangeError(`job ${draft.job.id} has no step ${index}`);
  const fields = {
    attempts: step.attempts + 1,
    attemptStartedAt: now.toISOString(),
    startedAt: step.startedAt ?? now.toISOString(),
    finishedAt: null,
    message: '',
    progress: 0,
    unansweredMs: 0,
  };
  draft.with({ waitingFor: '' });
  if (step.state === 'running') return draft.progress(index, fields, `attempt ${fields.attempts}`);
  return draft.step(index, 'running', fields);
}

/** An attempt to undo has the step's whole time, whenever the step itself was begun. */
function beginUndo<Change>(draft: MoveBuilder<Change>, index: number, now: Date): MoveBuilder<Change> {
  return draft.quietly(index, { attemptStartedAt: now.toISOString() });
}

/** The job was claimed: what has to be written before its current step may be worked on, if anything. */
export function begin<Change>(job: Job, moment: Clock, rules: AdvanceRules<Change>): JobMove<Change> | null {
  if (job.deaths >= rules.maxDeaths) {
    return fail(job, moment, rules, {
      class: 'needs_human',
      code: 'HOLDER_DIED_REPEATEDLY',
      message: `the process died ${job.deaths} times while working on this step`,
    });
  }
  const draft = new MoveBuilder<Change>(job, moment.now);
  if (job.status === 'compensating') {
    if (currentStep(job).attemptStartedAt !== null) return null;
    return beginUndo(draft, job.current, moment.now).move(null);
  }
  if (job.status === 'pending') draft.status('running', '');
  if (currentStep(job).attemptStartedAt === null) beginAttempt(draft, job.current, moment.now);
  return draft.events.length > 0 ? draft.move(null) : null;
}

/** The current step's work was seen to be done. */
export function succeed<Change>(
  job: Job,
  moment: Clock,
  rules: AdvanceRules<Change>,
  done: { message: string; change?: Change | undefined; claim?: OperatorClaim | undefined },
): JobMove<Change> {
  const draft = new MoveBuilder<Change>(job, moment.now);
  const fields = { message: done.message, progress: 100, unanswered: null, actedAt: null };
  draft.step(job.current, 'succeeded', fields, done.claim ? { claim: done.claim } : {});
  const adopting = job.adopting === 'asked' ? 'adopted' : job.adopting;
  draft.with({ current: job.current + 1, deaths: 0, waitingFor: '', adopting });
  if (draft.job.current < job.steps.length) {
    beginAttempt(draft, draft.job.current, moment.now);
    return draft.move(null, done.change ?? null);
  }
  draft.with({ error: null }).status(adopting === 'adopted' ? 'reconciled' : 'completed', '');
  return draft.move(0, merged(rules, done.change ?? null, rules.onEnd(draft.job)));
}

/** The current step waits for something. Tells about it only when the reason or the percentage changed. */
export function wait<Change>(
  job: Job,
  moment: Clock,
  waiting: {
    reason: string;
    pollAfterMs: number;
    progress?: number | undefined;
    change?: Change | undefined;
    acted?: true | undefined;
  },
): JobMove<Change> {
  const draft = new MoveBuilder<Change>(job, moment.now);
  const step = currentStep(job);
  const progress = Math.max(step.progress, Math.min(99, Math.floor(waiting.progress ?? step.progress)));
  draft.quietly(job.current, {
    ...answered(step, moment.now),
    actedAt: waiting.acted ? moment.now.toISOString() : null,
  });
  draft.with({ waitingFor: waiting.reason, deaths: 0 });
  if (waiting.reason !== job.waitingFor || progress !== step.progress) {
    draft.progress(job.current, { progress, message: waiting.reason }, waiting.reason);
  }
  return draft.move(waiting.pollAfterMs, waiting.change ?? null);
}

/** Known to this holder, and written with the next move. */
export function hasActed(job: Job, now: Date): Job {
  return new MoveBuilder<never>(job, now).quietly(job.current, { actedAt: now.toISOString() }).job;
}

/** The current step waits until it may act again; what it waits for stays as it was. */
export function hold<Change>(job: Job, moment: Clock, pollAfterMs: number): JobMove<Change> {
  return new MoveBuilder<Change>(job, moment.now).with({ deaths: 0 }).move(pollAfterMs);
}

/** The current step waits for an upstream that does not answer. */
export function awaitAnswer<Change>(
  job: Job,
  moment: Clock,
  { outage, acted, pollAfterMs }: { outage: Outage; acted: boolean; pollAfterMs: number },
): JobMove<Change> {
  const draft = new MoveBuilder<Change>(job, moment.now);
  const step = currentStep(job);
  const unanswered = unansweredBy(step, outage, moment.now);
  const reason = waitingForAnswer(unanswered);
  draft.quietly(job.current, { unanswered, ...(acted && { actedAt: moment.now.toISOString() }) });
  draft.with({ waitingFor: reason, deaths: 0 });
  if (reason !== job.waitingFor) draft.progress(job.current, { message: reason }, reason);
  return draft.move(pollAfterMs);
}

/** What the current step must remember before it acts. */
export function remember<Change>(job: Job, moment: Clock, memo: Memo): JobMove<Change> {
  return new MoveBuilder<Change>(job, moment.now).quietly(job.current, { memo }).move(null);
}

/** The current attempt failed: another attempt after a pause, or the end of the job. */
export function fail<Change>(
  job: Job,
  moment: Clock,
  rules: AdvanceRules<Change>,
  failure: Failure,
  change: Change | null = null,
): JobMove<Change> {
  const step = currentStep(job);
  const draft = new MoveBuilder<Change>(job, moment.now);
  const attempts = job.status === 'compensating' ? step.undoAttempts + 1 : step.attempts;
  const maxRetries = job.status === 'compensating' ? rules.maxUndoRetries : step.maxRetries;
  if (FAILURE_CLASSES[failure.class].retries && attempts <= maxRetries) {
    const pauseMs = backoffMs(rules.backoff, attempts, moment.random);
    const message = `attempt ${attempts} of ${maxRetries + 1} failed: ${failure.message}`;
    // What a timed-out attempt remembered still tells whether its effect came after all.
    const isLate = failure.code === 'TIMED_OUT';
    const memo = isLate ? step.memo : createdResources(step.memo);
    const kept = isLate ? {} : { unanswered: null, actedAt: null };
    const fields = { ...kept, ...(job.status === 'compensating' ? { undoAttempts: attempts } : { memo }) };
    draft.with({ waitingFor: `next attempt after: ${failure.message}` });
    draft.progress(job.current, { ...fields, attemptStartedAt: null, message }, message, {
      code: failure.code,
      class: failure.class,
    });
    return draft.move(pauseMs, change);
  }
  if (step.state === 'running') {
    draft.step(
      job.current,
      'failed',
      { message: failure.message },
      { code: failure.code, class: failure.class },
    );
  }
  const endsAs =
    job.status === 'compensating' ? 'failed_manual_intervention' : FAILURE_CLASSES[failure.class].endsAs;
  draft.with({
    error: {
      code: failure.code,
      message: failure.message,
      // For who repeats the call as it was: only what may pass by itself is worth that.
      retryable: endsAs === 'failed_retryable' && FAILURE_CLASSES[failure.class].retries,
      failureClass: failure.class,
      step: step.name,
      attempts,
    },
  });
  if (draft.job.status === 'pending') draft.status('running', '');
  draft.status(endsAs, failure.message);
  return draft.move(0, merged(rules, change, rules.onEnd(draft.job)));
}

/** Somebody asked to cancel, and the job is ours: turn around, or end where nothing was begun. */
export function turnBack<Change>(job: Job, moment: Clock, rules: AdvanceRules<Change>): JobMove<Change> {
  const draft = new MoveBuilder<Change>(job, moment.now);
  const actor = job.cancel?.actor ?? null;
  const reason = job.cancel?.reason ?? '';
  if (job.status === 'pending') {
    draft.status('cancelled', reason, actor);
    return draft.move(0, rules.onEnd(draft.job));
  }
  const last = lastToUndo(draft.job, draft.job.current, rules.canUndo);
  stopCurrent(draft, last);
  if (last === null) {
    draft.status('cancelled', reason, actor);
    return draft.move(0, rules.onEnd(draft.job));
  }
  draft.with({ current: last, waitingFor: '' }).status('compensating', reason, actor);
  return beginUndo(draft, last, moment.now).move(null);
}

/** The step at which a cancel struck is over, whatever comes of it; one that can be undone stays for that. */
function stopCurrent<Change>(draft: MoveBuilder<Change>, last: number | null): void {
  const { current } = draft.job;
  const step = draft.job.steps[current];
  if (step?.state === 'running' && last !== current) draft.step(current, 'failed', { message: 'canceled' });
}

/** A step that failed may be half done; only an operator who begins anew gets to undo it. */
const UNDOABLE: ReadonlySet<StepState> = new Set(['running', 'succeeded', 'failed']);

export function lastToUndo(job: Job, from: number, canUndo: (step: Step) => boolean): number | null {
  for (let index = Math.min(from, job.steps.length - 1); index >= 0; index -= 1) {
    const step = job.steps[index];
    if (step && UNDOABLE.has(step.state) && canUndo(step)) return index;
  }
  return null;
}

/** The current step is undone: on to the one before it, or the end. */
export function undone<Change>(
  job: Job,
  moment: Clock,
  rules: AdvanceRules<Change>,
  done: { message: string; change?: Change | undefined },
): JobMove<Change> {
  const draft = new MoveBuilder<Change>(job, moment.now);
  draft.step(job.current, 'undone', { message: done.message, memo: {} });
  const next = lastToUndo(draft.job, job.current - 1, rules.canUndo);
  draft.with({ deaths: 0, waitingFor: '' });
  if (next !== null) {
    return beginUndo(draft.with({ current: next }), next, moment.now).move(null, done.change ?? null);
  }
  if (job.restarting && job.cancel === null) {
    return resetAllSteps(draft, 'engine')
      .status('pending', 'everything is undone')
      .move(0, done.change ?? null);
  }
  draft.status('cancelled', job.cancel?.reason ?? '', job.cancel?.actor ?? null);
  return draft.move(0, merged(rules, done.change ?? null, rules.onEnd(draft.job)));
}

/** Every step as if it had never been begun. */
export function resetAllSteps<Change>(draft: MoveBuilder<Change>, owner: StepOwner): MoveBuilder<Change> {
  draft.job.steps.forEach((step, index) => {
    if (step.state === 'waiting') return;
    const isUndone = step.state === 'undone' ? owner : 'operator';
    draft.step(index, 'waiting', resetStep(step), {}, isUndone);
  });
  return draft.with({ current: 0, error: null, waitingFor: '', deaths: 0, restarting: false });
}

/** A new round: whatever earlier attempts set off is not taken for this one's. */
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
