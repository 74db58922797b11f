/** What an operator can do about an operation, whoever started it. Document 3 §8. */
export const OPERATOR_ACTIONS = {
  retry_stage: { verb: 'retry-stage', effect: 'run the failed step again, with all of its attempts' },
  resume: { verb: 'resume', effect: 'go on from the last safe step: look first, act only where needed' },
  rerun: { verb: 'rerun', effect: 'begin at the first step again; what is found done is adopted' },
  restart_clean: { verb: 'restart-clean', effect: 'undo what was done, then begin at the first step' },
  cancel: { verb: 'cancel', effect: 'stop, or give up what has failed, and undo what can be undone' },
  adopt_observed_state: {
    verb: 'adopt',
    effect: 'accept the failed step’s work as done if it is seen to be done, and go on',
  },
  mark_manual_intervention_required: {
    verb: 'hold',
    effect: 'freeze it until a human has looked',
  },
} as const satisfies Record<string, { verb: string; effect: string }>;

export type OperatorAction = keyof typeof OPERATOR_ACTIONS;
export const OPERATOR_ACTION_NAMES = Object.keys(OPERATOR_ACTIONS) as OperatorAction[];
