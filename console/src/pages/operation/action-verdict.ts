/** Which operator actions are available for an operation right now, by the server's own tables. */
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
  readonly awaitsApproval?: boolean;
  /** Why its machine refuses an operation of this type now; empty if it does not, or if that is not known. */
  readonly machineRefuses: string;
}

/** These only end or hold the operation, whatever the state of its machine. */
const NEEDS_NO_MACHINE: readonly OperatorAction[] = ['cancel', 'mark_manual_intervention_required'];

/** Why the action is not available; empty if it is. */
export function whyUnavailable(action: OperatorAction, acted: ActedOn) {
  const { status, cancelRequested, awaitsApproval = false, machineRefuses } = acted;
  const { verb } = OPERATOR_ACTIONS[action];
  if (awaitsApproval && action !== 'cancel') return 'It waits for approval: approve, reject or cancel it.';
  if (action === 'cancel' && cancelRequested && isActive(status))
    return 'Cancel is already requested; the operation is stopping.';
  const verdict = VERDICTS[action][status];
  if (verdict === 'act') return NEEDS_NO_MACHINE.includes(action) ? '' : machineRefuses;
  const { meaning } = operationLifecycle.states[status];
  const state = `It is ${status} (${meaning})`;
  if (verdict === 'nothing') return `${state}: there is nothing to ${verb}.`;
  const possible = OPERATOR_ACTION_NAMES.filter((name) => VERDICTS[name][status] === 'act').map(
    (name) => OPERATOR_ACTIONS[name].verb,
  );
  const instead =
    possible.length === 0 ? 'No actions are available' : `Available actions: ${possible.join(', ')}`;
  return `${state}, so ${verb} is not available. ${instead}.`;
}
