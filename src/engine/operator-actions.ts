/**
 * What an operator's action does to a job, decided without hands. Actions are idempotent: on a job that is queued or
 * being worked on already, what would only queue it again changes nothing. A job that an action changes gets a new
 * epoch, so whoever still works on it from before can write nothing more.
 */
import type { Actor } from '../domain/actor.ts';
import type { JobStatus } from '../domain/job-status.ts';
import type { OperatorAction } from '../domain/operator-action.ts';
import type { Step } from '../domain/step.ts';
import { type AdvanceRules, Draft, fromTheTop, lastToUndo, unbegun } from './advance.ts';
import type { Job, JobMove } from './job.ts';

/** A cancel goes its own way: the holder has to turn around. */
export type DecidedAction = Exclude<OperatorAction, 'cancel'>;

export interface ActionCause {
  readonly actor: Actor;
  readonly reason: string;
  readonly now: Date;
}

export type ActionDecision<Change> =
  | { readonly decision: 'move'; readonly move: JobMove<Change> }
  /** As it is, it is what was asked for. */
  | { readonly decision: 'nothing' }
  | { readonly decision: 'refuse'; readonly why: string };

type Verdict = 'act' | 'nothing' | 'refuse';

/** By action and status; the columns are all there are. */
export const ACTION_TABLE = {
  retry_stage: row('nothing', 'nothing', 'nothing', 'refuse', 'refuse', 'act', 'act', 'refuse'),
  resume: row('nothing', 'nothing', 'nothing', 'refuse', 'refuse', 'act', 'act', 'refuse'),
  rerun: row('nothing', 'nothing', 'refuse', 'refuse', 'refuse', 'act', 'act', 'act'),
  restart_clean: row('nothing', 'refuse', 'refuse', 'refuse', 'refuse', 'act', 'act', 'act'),
  adopt_observed_state: row('nothing', 'nothing', 'refuse', 'refuse', 'nothing', 'act', 'act', 'refuse'),
  mark_manual_intervention_required: row('act', 'act', 'act', 'refuse', 'refuse', 'act', 'nothing', 'refuse'),
} as const satisfies Record<DecidedAction, Record<JobStatus, Verdict>>;

function row(
  pending: Verdict,
  running: Verdict,
  compensating: Verdict,
  completed: Verdict,
  reconciled: Verdict,
  failedRetryable: Verdict,
  failedManual: Verdict,
  cancelled: Verdict,
): Record<JobStatus, Verdict> {
  return {
    pending,
    running,
    compensating,
    completed,
    reconciled,
    failed_retryable: failedRetryable,
    failed_manual_intervention: failedManual,
    cancelled,
  };
}

const REFUSALS: Readonly<Record<JobStatus, string>> = {
  pending: 'it is queued',
  running: 'it is being worked on; hold or cancel it first',
  compensating: 'it is being undone; wait for that, or hold it',
  completed: 'it has succeeded',
  reconciled: 'it has ended by adoption',
  failed_retryable: 'it has failed',
  failed_manual_intervention: 'it waits for a human',
  cancelled: 'it was canceled; rerun it instead',
};

export function decideAction<Change>(
  job: Job,
  action: DecidedAction,
  cause: ActionCause,
  rules: AdvanceRules<Change>,
): ActionDecision<Change> {
  const verdict = ACTION_TABLE[action][job.status];
  if (verdict === 'nothing') return { decision: 'nothing' };
  if (verdict === 'refuse') return { decision: 'refuse', why: REFUSALS[job.status] };
  return { decision: 'move', move: MOVES[action](job, cause, rules as unknown as AdvanceRules<never>) };
}

type Mover = (job: Job, cause: ActionCause, rules: AdvanceRules<never>) => JobMove<never>;

const MOVES: Readonly<Record<DecidedAction, Mover>> = {
  retry_stage: (job, cause) => again(job, cause, unbegun, 'retry_stage'),
  // Another attempt, with what the last one remembered.
  resume: (job, cause) => again(job, cause, () => ({ attemptStartedAt: null }), 'resume'),
  rerun: (job, cause) => fromStart(job, cause, 'rerun'),
  restart_clean: (job, cause, rules) => {
    const last = lastToUndo(job, Math.min(job.current, job.steps.length - 1), rules.canUndo);
    if (last === null || job.status === 'cancelled') return fromStart(job, cause, 'restart_clean');
    const draft = new Draft<never>(job, cause.now)
      .with({ restarting: true, cancel: null, current: last, error: null, waitingFor: '', adopting: '' })
      .status('compensating', told(cause, 'restart_clean'), cause.actor, 'operator');
    draft.quietly(last, { attemptStartedAt: null, undoAttempts: 0 });
    return draft.move(0);
  },
  adopt_observed_state: (job, cause) => {
    const move = again(job, cause, sameAttempt, 'adopt_observed_state');
    return { ...move, job: { ...move.job, adopting: 'asked' } };
  },
  mark_manual_intervention_required: (job, cause, rules) => {
    const draft = new Draft<never>(job, cause.now);
    const step = job.steps[job.current];
    draft.with({
      error: {
        code: 'HELD',
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
    const comment = told(cause, 'mark_manual_intervention_required');
    draft.status('failed_manual_intervention', comment, cause.actor, 'operator');
    return draft.move(0, rules.onEnd(draft.job));
  },
};

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
  const draft = new Draft<never>(job, cause.now).with({ error: null, waitingFor: '', deaths: 0, adopting });
  const comment = told(cause, action);
  if (job.cancel !== null || job.restarting) {
    draft.quietly(job.current, { attemptStartedAt: null, undoAttempts: 0 });
    return draft.status('compensating', comment, cause.actor, 'operator').move(0);
  }
  const step = job.steps[job.current];
  if (step && step.state !== 'waiting') draft.step(job.current, 'waiting', fields(step), {}, 'operator');
  return draft.status('pending', comment, cause.actor, 'operator').move(0);
}

function fromStart(job: Job, cause: ActionCause, action: OperatorAction): JobMove<never> {
  const draft = new Draft<never>(job, cause.now).with({ cancel: null, adopting: '' });
  return fromTheTop(draft, 'operator')
    .status('pending', told(cause, action), cause.actor, 'operator')
    .move(0);
}

/** How the history tells it. */
function told({ reason }: ActionCause, action: OperatorAction): string {
  return `${action}: ${reason}`;
}
