/** What an operator can do about an operation, whoever started it. Document 3 §8. */
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
    effect: 'go on from the last safe step: look first, act only where needed',
  },
  rerun: {
    verb: 'rerun',
    advice: 'rerun it',
    effect: 'begin at the first step again; what is found done is adopted',
  },
  restart_clean: {
    verb: 'restart-clean',
    advice: 'restart it clean',
    effect: 'undo what was done, then begin at the first step',
  },
  cancel: {
    verb: 'cancel',
    advice: 'cancel it',
    effect: 'stop, or give up what has failed, and undo what can be undone',
  },
  adopt_observed_state: {
    verb: 'adopt',
    advice: 'adopt it',
    effect:
      'accept the failed step’s work as done if it is seen to be done, or on your word where nothing can be seen, and go on',
  },
  mark_manual_intervention_required: {
    verb: 'hold',
    advice: 'hold it',
    effect: 'freeze it until a human has looked',
  },
} as const satisfies Record<string, { verb: string; advice: string; effect: string }>;

export type OperatorAction = keyof typeof OPERATOR_ACTIONS;
export const OPERATOR_ACTION_NAMES = Object.keys(OPERATOR_ACTIONS) as OperatorAction[];

/** `nothing`: as it is, it is what was asked for. */
export type Verdict = 'act' | 'nothing' | 'refuse';

/** By action and status; the columns are all there are. */
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
  running: 'it is being worked on; hold or cancel it first',
  compensating: 'it is being undone; wait for that, or hold it',
  completed: 'it has succeeded',
  reconciled: 'it has ended by adoption',
  failed_retryable: 'it has failed',
  failed_manual_intervention: 'it waits for a human',
  cancelled: 'it was canceled; rerun it instead',
};
