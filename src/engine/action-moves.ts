/**
 * What an operator's action does to a job, decided without hands. Actions are idempotent: on a job that is queued or
 * being worked on already, what would only queue it again changes nothing. A job that an action changes gets a new
 * epoch, so whoever still works on it from before can write nothing more.
 */
import { type Actor, actorLabel } from '../domain/actor.ts';
import type { FailureCode } from '../domain/error/failure-code.ts';
import type { OperationStatus } from '../domain/operation/operation-status.ts';
import { type OperatorAction, REFUSALS, VERDICTS } from '../domain/operation/operator-action.ts';
import type { OperatorClaim, Step } from '../domain/operation/step.ts';
import { type AdvanceRules, lastToUndo, MoveBuilder, resetAllSteps, resetStep } from './advance.ts';
import type { Job, JobMove } from './job.ts';

export interface ActionCause {
  readonly actor: Actor;
  readonly reason: string;
  readonly now: Date;
  /** The code that a hold leaves in the job's error. */
  readonly heldAs: FailureCode;
}

export type ActionDecision<Change> =
  | { readonly decision: 'move'; readonly move: JobMove<Change> }
  /** As it is, it is what was asked for. */
  | { readonly decision: 'nothing' }
  | { readonly decision: 'refuse'; readonly why: string };

/** For a cancel, only of a job that is not active. */
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
  retry_stage: (job, cause) => again(job, cause, resetStep, 'retry_stage'),
  // Another attempt, with what the last one remembered.
  resume: (job, cause) => again(job, cause, () => ({ attemptStartedAt: null, claim: null }), 'resume'),
  rerun: (job, cause) => fromStart(job, cause, 'rerun'),
  restart_clean: (job, cause, rules) => {
    const last = lastToUndo(job, job.current, rules.canUndo);
    if (last === null || job.status === 'cancelled') return fromStart(job, cause, 'restart_clean');
    return walkBack(
      new MoveBuilder<never>(job, cause.now).with({ restarting: true, cancel: null }),
      last,
      cause,
      'restart_clean',
    );
  },
  cancel: (job, cause, rules) => {
    const draft = new MoveBuilder<never>(job, cause.now).with({
      restarting: false,
      cancel: { actor: cause.actor, reason: cause.reason },
    });
    const last = lastToUndo(job, job.current, rules.canUndo);
    if (last !== null) return walkBack(draft, last, cause, 'cancel');
    tell(draft.with({ error: null }), 'cancelled', cause, 'cancel');
    return draft.move(0, rules.onEnd(draft.job));
  },
  adopt_observed_state: (job, cause) => {
    const claim = claimOf(cause);
    const fields = (step: Step) => ({ ...sameAttempt(step), claim });
    const move = again(job, cause, fields, 'adopt_observed_state');
    return { ...move, job: { ...move.job, adopting: 'asked' } };
  },
  mark_manual_intervention_required: (job, cause, rules) => {
    const draft = new MoveBuilder<never>(job, cause.now);
    const step = job.steps[job.current];
    draft.with({
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
      draft.step(job.current, 'failed', { message: 'held by an operator' });
    }
    tell(draft, 'failed_manual_intervention', cause, 'mark_manual_intervention_required');
    return draft.move(0, rules.onEnd(draft.job));
  },
};

/** Only people can claim that something is done; what the system adopts it has to see. */
function claimOf({ actor, reason }: ActionCause): OperatorClaim | null {
  return actor.kind === 'admin' || actor.kind === 'operator' ? { by: actorLabel(actor), reason } : null;
}

/** The attempt that ended looks once more at what it had begun, with what it remembered. */
function sameAttempt({ attempts }: Step): Partial<Step> {
  return { attempts: Math.max(0, attempts - 1), attemptStartedAt: null };
}

/** The current step once more; where undoing had failed, the undoing. */
function again(
  job: Job,
  cause: ActionCause,
  fields: (step: Step) => Partial<Step>,
  action: OperatorAction,
): JobMove<never> {
  // What was to be adopted and was not there is not asked for again by itself.
  const adopting = job.adopting === 'adopted' ? 'adopted' : '';
  const draft = new MoveBuilder<never>(job, cause.now).with({
    error: null,
    waitingFor: '',
    deaths: 0,
    adopting,
  });
  if (job.cancel !== null || job.restarting) {
    draft.quietly(job.current, { attemptStartedAt: null, undoAttempts: 0 });
    return tell(draft, 'compensating', cause, action).move(0);
  }
  const step = job.steps[job.current];
  if (step && step.state !== 'waiting') draft.step(job.current, 'waiting', fields(step), {}, 'operator');
  return tell(draft, 'pending', cause, action).move(0);
}

function fromStart(job: Job, cause: ActionCause, action: OperatorAction): JobMove<never> {
  const draft = new MoveBuilder<never>(job, cause.now).with({ cancel: null, adopting: '' });
  return tell(resetAllSteps(draft, 'operator'), 'pending', cause, action).move(0);
}

/** Back over what was begun, from the last step that can be undone. */
function walkBack(
  draft: MoveBuilder<never>,
  last: number,
  cause: ActionCause,
  action: OperatorAction,
): JobMove<never> {
  draft.with({ current: last, error: null, waitingFor: '', adopting: '' });
  tell(draft, 'compensating', cause, action);
  return draft.quietly(last, { attemptStartedAt: null, undoAttempts: 0 }).move(0);
}

/** Into the history: the action and its reason, apart and in one line. */
function tell(
  draft: MoveBuilder<never>,
  to: OperationStatus,
  { actor, reason }: ActionCause,
  action: OperatorAction,
): MoveBuilder<never> {
  return draft.status(to, `${action}: ${reason}`, actor, 'operator', { action, reason });
}
