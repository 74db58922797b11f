/** What to do about an operation: the same answer in the API, the CLI and the console. */
import type { FailureClass } from '../error/failure-class.ts';
import { FAILURES, isFailureCode } from '../error/failure-code.ts';
import type { Advised, FailureAdvice } from '../error/failures/advice.ts';
import type { Operation, OperationError } from './operation.ts';
import { isActive } from './operation-status.ts';
import { OPERATOR_ACTIONS, type OperatorAction } from './operator-action.ts';

export interface NextAction {
  readonly action: OperatorAction | null;
  /** The action in words, or why there is none. */
  readonly next: string;
  /** What to check and then to do, as a clause. */
  readonly advice: string;
  /** Both empty where nothing has failed. */
  readonly whatHappened: string;
  readonly check: string;
  readonly who: Advised | 'nobody';
  /** It waits for approval: this command decides. */
  readonly decides?: 'approve';
}

export type Advisable = Pick<Operation, 'status' | 'cancelRequested'> & {
  readonly error: Pick<OperationError, 'code' | 'failureClass'> | null;
  readonly approval?: { readonly state: string } | null | undefined;
};

export function nextActionFor({ status, error, cancelRequested, approval }: Advisable): NextAction {
  if (status === 'pending' && approval?.state === 'waiting') return APPROVE;
  if (isActive(status)) return nothing('wait: it is running');
  if (status === 'completed' || status === 'reconciled') return nothing('nothing: it has succeeded');
  if (status === 'cancelled') return { ...nothing('nothing, or rerun it'), action: 'rerun', who: 'operator' };
  const row = adviceOn(error);
  // Undoing failed: the same step is undone again. Any other action would start the work that was canceled.
  const action = cancelRequested ? 'retry_stage' : row.action;
  const then = cancelRequested ? 'retry the stage, which continues undoing' : OPERATOR_ACTIONS[action].advice;
  return { ...row, action, next: then, advice: `${row.check}; then ${then}` };
}

const APPROVE: NextAction = {
  ...nothing('another operator approves or rejects it'),
  who: 'operator',
  decides: 'approve',
};

function nothing(next: string): NextAction {
  return { action: null, next, advice: next, whatHappened: '', check: '', who: 'nobody' };
}

/** The command that performs the action, without the program's name; empty where there is none. */
export function commandFor(
  operationId: string,
  { action, decides }: Pick<NextAction, 'action' | 'decides'>,
): string {
  if (decides) return `op ${decides} ${operationId}`;
  return action === null ? '' : `op ${OPERATOR_ACTIONS[action].verb} ${operationId} --reason "…"`;
}

function adviceOn(error: Advisable['error']): FailureAdvice {
  if (error === null) return UNKNOWN_CODE.needs_human;
  return isFailureCode(error.code) ? FAILURES[error.code] : UNKNOWN_CODE[error.failureClass];
}

const OTHER_VERSION = {
  whatHappened: 'it failed in a way that this version does not know',
  check: 'see what the error names, and fix it',
  who: 'operator',
} as const;

/** A failure that another version of Ingot recorded. */
const UNKNOWN_CODE = {
  retryable: { ...OTHER_VERSION, action: 'retry_stage' },
  permanent: { ...OTHER_VERSION, action: 'retry_stage' },
  needs_human: { ...OTHER_VERSION, action: 'resume' },
  effect_unknown: {
    ...OTHER_VERSION,
    check: 'see whether it is done; if it is not, retry the stage instead',
    action: 'adopt_observed_state',
  },
} as const satisfies Record<FailureClass, FailureAdvice>;
