/** The actions of operators on an operation, whichever API started it (docs/maas.md). */
import type { OperationStatus } from './operation-status.ts';

export const OPERATOR_ACTIONS = {
  retry_stage: {
    verb: 'retry-stage',
    advice: 'retry the stage',
    effect: 'run the failed step again, with all of its attempts',
  },
  resume: {
    verb: 'resume',
    advice: 'resume it',
    effect: 'continue from the last safe step: probe first, act only where needed',
  },
  rerun: {
    verb: 'rerun',
    advice: 'rerun it',
    effect: 'start at the first step again; what is found done is adopted',
  },
  restart_clean: {
    verb: 'restart-clean',
    advice: 'restart it clean',
    effect: 'undo what was done, then start at the first step',
  },
  cancel: {
    verb: 'cancel',
    advice: 'cancel it',
    effect: 'stop it, or give up a failed one, and undo what can be undone',
  },
  adopt_observed_state: {
    verb: 'adopt',
    advice: 'adopt it',
    effect:
      "accept the failed step's work as done if it is observed as done, or on your claim where nothing can be observed, and continue",
  },
  mark_manual_intervention_required: {
    verb: 'hold',
    advice: 'hold it',
    effect: 'hold it until a person has checked it',
  },
} as const satisfies Record<string, { verb: string; advice: string; effect: string }>;

export type OperatorAction = keyof typeof OPERATOR_ACTIONS;
export const OPERATOR_ACTION_NAMES = Object.keys(OPERATOR_ACTIONS) as OperatorAction[];

/** `nothing`: the operation is already in the state that was asked for. */
export type Verdict = 'act' | 'nothing' | 'refuse';

/** By action and status; the columns are all statuses. */
export const VERDICTS = {
  retry_stage: row('nothing', 'nothing', 'nothing', 'refuse', 'refuse', 'act', 'act', 'refuse'),
  resume: row('nothing', 'nothing', 'nothing', 'refuse', 'refuse', 'act', 'act', 'refuse'),
  rerun: row('nothing', 'nothing', 'refuse', 'refuse', 'refuse', 'act', 'act', 'act'),
  restart_clean: row('nothing', 'refuse', 'refuse', 'refuse', 'refuse', 'act', 'act', 'act'),
  cancel: row('act', 'act', 'act', 'refuse', 'refuse', 'act', 'act', 'nothing'),
  adopt_observed_state: row('nothing', 'nothing', 'refuse', 'refuse', 'nothing', 'act', 'act', 'refuse'),
  mark_manual_intervention_required: row('act', 'act', 'act', 'refuse', 'refuse', 'act', 'nothing', 'refuse'),
} as const satisfies Record<OperatorAction, Record<OperationStatus, Verdict>>;

function row(
  pending: Verdict,
  running: Verdict,
  compensating: Verdict,
  completed: Verdict,
  reconciled: Verdict,
  failedRetryable: Verdict,
  failedManual: Verdict,
  cancelled: Verdict,
): Record<OperationStatus, Verdict> {
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

/** Why an action is refused, by status. */
export const REFUSALS: Readonly<Record<OperationStatus, string>> = {
  pending: 'it is queued',
  running: 'it is running; hold or cancel it first',
  compensating: 'it is being undone; wait for that, or hold it',
  completed: 'it has succeeded',
  reconciled: 'it has ended by adoption',
  failed_retryable: 'it has failed',
  failed_manual_intervention: 'it waits for an operator',
  cancelled: 'it was canceled; rerun it instead',
};
