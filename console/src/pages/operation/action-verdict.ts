/** Which operator actions do something to an operation right now, by the server's own tables. */
import {
  isActive,
  type OperationStatus,
  operationLifecycle,
} from '../../../../src/domain/operation/operation-status.ts';
import {
  OPERATOR_ACTION_NAMES,
  OPERATOR_ACTIONS,
  type OperatorAction,
  VERDICTS,
} from '../../../../src/domain/operation/operator-action.ts';

export interface ActedOn {
  readonly status: OperationStatus;
  readonly cancelRequested: boolean;
  /** Why its machine takes no work of this type now; empty when it does, or when that is not known. */
  readonly machineRefuses: string;
}

/** These only end the operation, or freeze it: the machine need not be ready for work. */
const NEEDS_NO_MACHINE: readonly OperatorAction[] = ['cancel', 'mark_manual_intervention_required'];

/** Empty when the action would do something. */
export function whyNoAction(action: OperatorAction, { status, cancelRequested, machineRefuses }: ActedOn) {
  const { verb } = OPERATOR_ACTIONS[action];
  if (action === 'cancel' && cancelRequested && isActive(status))
    return 'Somebody has asked for this already; it is stopping.';
  const verdict = VERDICTS[action][status];
  if (verdict === 'act') return NEEDS_NO_MACHINE.includes(action) ? '' : machineRefuses;
  const { meaning } = operationLifecycle.states[status];
  const state = `It is ${status} (${meaning})`;
  if (verdict === 'nothing') return `${state}: there is nothing to ${verb}.`;
  const possible = OPERATOR_ACTION_NAMES.filter((name) => VERDICTS[name][status] === 'act').map(
    (name) => OPERATOR_ACTIONS[name].verb,
  );
  const instead =
    possible.length === 0 ? 'Nothing more can be done to it' : `Possible: ${possible.join(', ')}`;
  return `${state}, which ${verb} can’t change. ${instead}.`;
}
