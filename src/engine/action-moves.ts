/**
 * Decides what an operator's action does to a job; pure. Actions are idempotent: on a job that is queued or running, an action
 * that would only queue it again changes nothing. A job that an action changes gets a new epoch, so its present holder can
 * write nothing more.
 */
import { type Actor, actorLabel } from '../domain/actor.ts';
import type { FailureCode } from '../domain/error/failure-code.ts';
import type { OperationStatus } from '../domain/operation/operation-status.ts';
import { type OperatorAction, REFUSALS, VERDICTS } from '../domain/operation/operator-action.ts';
import type { OperatorClaim, Step } from '../domain/operation/step.ts';
import { type AdvanceRules, lastToUndo, resetAllSteps, resetStep } from './advance.ts';
import type { Job, JobMove } from './job.ts';
import { MoveBuilder } from './move-builder.ts';

export interface ActionCause {
  readonly actor: Actor;
  readonly reason: string;
  readonly now: Date;
  /** The code that a hold leaves in the job's error. */
  readonly heldAs: FailureCode;
}

export type ActionDecision<Change> =
  | { readonly decision: 'move'; readonly move: JobMove<Change> }
  /** The job is already in the state that was asked for. */
  | { readonly decision: 'nothing' }
  | { readonly decision: 'refuse'; readonly why: string };

/** A cancel only of a job that is not active: the holder of an active one carries it out. */
export function decideAction<Change>(
  job: Job,
  action: OperatorAction,
  cause: ActionCause,
  rules: AdvanceRules<Change>,
): ActionDecision<Change> {
  const verdict = VERDICTS[action][job.status];
  if (verdict === 'nothing') return { decision: 'nothing' };
  if (verdict === 'refuse') return { decision: 'refuse', why: REFUSALS[job.status] };
  return { decision: 'move', move: MOVES[action](job, cause, rules as unknown as AdvanceRules<never>) };
}

type Mover = (job: Job, cause: ActionCause, rules: AdvanceRules<never>) => JobMove<never>;

const MOVES: Readonly<Record<OperatorAction, Mover>> = {
  retry_stage: (job, cause) => runAgain(job, cause, resetStep, 'retry_stage'),
  // Another attempt, with the memo of the last one.
  resume: (job, cause) => runAgain(job, cause, () => ({ attemptStartedAt: null, claim: null }), 'resume'),
  rerun: (job, cause) => fromStart(job, cause, 'rerun'),
  restart_clean: (job, cause, rules) => {
    const last = lastToUndo(job, job.current, rules.canUndo);
    if (last === null || job.status === 'cancelled') return fromStart(job, cause, 'restart_clean');
    return undoFrom(
      new MoveBuilder<never>(job, cause.now).with({ restarting: true, cancel: null }),
      last,
      cause,
      'restart_clean',
    );
  },
  cancel: (job, cause, rules) => {
    const builder = new MoveBuilder<never>(job, cause.now).with({
      restarting: false,
      cancel: { actor: cause.actor, reason: cause.reason },
    });
    const last = lastToUndo(job, job.current, rules.canUndo);
    if (last !== null) return undoFrom(builder, last, cause, 'cancel');
    changeStatus(builder.with({ error: null }), 'cancelled', cause, 'cancel');
    return builder.move(0, rules.onEnd(builder.job));
  },
  adopt_observed_state: (job, cause) => {
    const claim = claimOf(cause);
    const fields = (step: Step) => ({ ...sameAttempt(step), claim });
    const move = runAgain(job, cause, fields, 'adopt_observed_state');
    return { ...move, job: { ...move.job, adopting: 'asked' } };
  },
  mark_manual_intervention_required: (job, cause, rules) => {
    const builder = new MoveBuilder<never>(job, cause.now);
    const step = job.steps[job.current];
    builder.with({
      error: {
        code: cause.heldAs,
        message: `held by ${cause.actor.id}: ${cause.reason}`,
        retryable: false,
        failureClass: 'needs_human',
        step: step?.name ?? '',
        attempts: step?.attempts ?? 0,
      },
    });
    if (step?.state === 'running' && job.status === 'running') {
      builder.step(job.current, 'failed', { message: 'held by an operator' });
    }
    changeStatus(builder, 'failed_manual_intervention', cause, 'mark_manual_intervention_required');
    return builder.move(0, rules.onEnd(builder.job));
  },
};

/** Only a person can claim that something is done; the system adopts only what it observes. */
function claimOf({ actor, reason }: ActionCause): OperatorClaim | null {
  return actor.kind === 'admin' || actor.kind === 'operator' ? { by: actorLabel(actor), reason } : null;
}

/** The attempt that ended probes once more what it had started, with its memo. */
function sameAttempt({ attempts }: Step): Partial<Step> {
  return { attempts: Math.max(0, attempts - 1), attemptStartedAt: null };
}

/** Runs the current step again; where its undo had failed, runs the undo again. */
function runAgain(
  job: Job,
  cause: ActionCause,
  fields: (step: Step) => Partial<Step>,
  action: OperatorAction,
): JobMove<never> {
  // An adoption that found nothing done is not asked for again by another action.
  const adopting = job.adopting === 'adopted' ? 'adopted' : '';
  const builder = new MoveBuilder<never>(job, cause.now).with({
    error: null,
    waitingFor: '',
    deaths: 0,
    adopting,
  });
  if (job.cancel !== null || job.restarting) {
    builder.withoutEvent(job.current, { attemptStartedAt: null, undoAttempts: 0 });
    return changeStatus(builder, 'compensating', cause, action).move(0);
  }
  const step = job.steps[job.current];
  if (step && step.state !== 'waiting') builder.step(job.current, 'waiting', fields(step), {}, 'operator');
  return changeStatus(builder, 'pending', cause, action).move(0);
}

function fromStart(job: Job, cause: ActionCause, action: OperatorAction): JobMove<never> {
  const builder = new MoveBuilder<never>(job, cause.now).with({ cancel: null, adopting: '' });
  return changeStatus(resetAllSteps(builder, 'operator'), 'pending', cause, action).move(0);
}

/** Undoes the steps that were started, from the last one that can be undone. */
function undoFrom(
  builder: MoveBuilder<never>,
  last: number,
  cause: ActionCause,
  action: OperatorAction,
): JobMove<never> {
  builder.with({ current: last, error: null, waitingFor: '', adopting: '' });
  changeStatus(builder, 'compensating', cause, action);
  return builder.withoutEvent(last, { attemptStartedAt: null, undoAttempts: 0 }).move(0);
}

/** Changes the status; the event has the action and its reason, in the comment and as metadata. */
function changeStatus(
  builder: MoveBuilder<never>,
  to: OperationStatus,
  { actor, reason }: ActionCause,
  action: OperatorAction,
): MoveBuilder<never> {
  return builder.status(to, `${action}: ${reason}`, actor, 'operator', { action, reason });
}
