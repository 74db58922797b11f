/** Operator actions (docs/maas.md): their effects, whether they are available, and a dialog that asks for a reason. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { busyBecause, whyNot } from '../../../../src/domain/operation/gate.ts';
import {
  OPERATOR_ACTION_NAMES,
  OPERATOR_ACTIONS,
  type OperatorAction,
} from '../../../../src/domain/operation/operator-action.ts';
import {
  isPhaseGated,
  PHASE_GATED_TYPES,
  type PhaseGatedType,
} from '../../../../src/domain/operation/phase-gated-type.ts';
import { OperatorAction_Value } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import type { Operation } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { admin, machines } from '../../api/clients.ts';
import { capitalize } from '../../capitalize.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { machineView } from '../../machine-view.ts';
import { type OperationView, operationView } from '../../operation-view.ts';
import { ActionMenu } from '../../ui/action-menu.tsx';
import { Button } from '../../ui/button.tsx';
import { ReasonDialog } from '../../ui/reason-dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { whyUnavailable } from './action-verdict.ts';
import { actionLine } from './command-lines.ts';
import { operationKey } from './operation-key.ts';

export interface OfferedAction {
  readonly action: OperatorAction;
  readonly title: string;
  /** Empty: it is available. */
  readonly disabledBecause: string;
}

/** These discard completed steps. */
const UNDOES: readonly OperatorAction[] = ['cancel', 'restart_clean'];
/** These run completed steps again. */
const REPEATS: readonly OperatorAction[] = ['retry_stage', 'resume', 'rerun', 'restart_clean'];

export function titleOf(action: OperatorAction): string {
  return capitalize(OPERATOR_ACTIONS[action].verb.replaceAll('-', ' '));
}

export function useOfferedActions(view: OperationView | null): readonly OfferedAction[] {
  const forbidden = useForbidden();
  const machineRefuses = useMachineRefusal(view);
  if (!view) return [];
  const { status, message } = view;
  const { cancelRequested, approval } = message;
  const awaitsApproval = status === 'pending' && approval?.state === 'waiting';
  const acted = { status, cancelRequested, awaitsApproval, machineRefuses };
  return OPERATOR_ACTION_NAMES.map((action) => ({
    action,
    title: titleOf(action),
    disabledBecause: forbidden('operator', METHODS.act) || whyUnavailable(action, acted),
  }));
}

/** An operation that continues has to pass the gates of its machine again. */
function useMachineRefusal(view: OperationView | null): string {
  const isOver = view !== null && !view.isActive;
  const machineId = view?.machineId ?? '';
  const asked = useQuery({
    queryKey: ['machine', machineId, 'gates'],
    queryFn: async () => machineView(await machines.getMachine({ machineId })),
    enabled: isOver,
  });
  if (!isOver || !asked.data) return '';
  const isGated = view.message.planId === '' && isPhaseGated(view.type);
  if (isGated) return whyNot(view.type as PhaseGatedType, asked.data) ?? '';
  return busyBecause(asked.data) ?? '';
}

export interface ActionButtonsProps {
  readonly view: OperationView;
  readonly offered: readonly OfferedAction[];
  readonly onChoose: (action: OperatorAction) => void;
}

/** The one that an active operation is left with is a button. That of a failed one is beside the reason for it, below. */
export function ActionButtons({ view, offered, onChoose }: ActionButtonsProps) {
  const cancel = view.isActive ? offered.find(({ action }) => action === 'cancel') : undefined;
  return (
    <>
      {cancel && (
        <Button
          kind="danger"
          disabledBecause={cancel.disabledBecause}
          onClick={() => onChoose(cancel.action)}
        >
          {cancel.title}
        </Button>
      )}
      <ActionMenu
        actions={offered
          .filter((offer) => offer !== cancel)
          .map(({ action, title, disabledBecause }) => ({
            key: action,
            title,
            effect: capitalize(OPERATOR_ACTIONS[action].effect),
            isDangerous: UNDOES.includes(action),
            disabledBecause,
            run: () => onChoose(action),
          }))}
      />
    </>
  );
}

export function ActionDialog({
  view,
  action,
  onClose,
}: {
  view: OperationView;
  action: OperatorAction;
  onClose: () => void;
}) {
  const { notify } = useToasts();
  const queries = useQueryClient();
  const { operationId } = view;
  const { effect } = OPERATOR_ACTIONS[action];
  const isDestructive = isPhaseGated(view.type) && PHASE_GATED_TYPES[view.type].destructive;
  return (
    <ReasonDialog
      about={operationId}
      verb={titleOf(action)}
      kind={UNDOES.includes(action) ? 'danger-primary' : 'primary'}
      reason="required"
      goBack={action === 'cancel' ? 'Go back' : 'Cancel'}
      command={(reason) => actionLine(action, operationId, reason)}
      act={(reason) => takeAction(view, action, reason)}
      onDone={(operation) => {
        queries.setQueryData(operationKey(operationId), operation);
        const isStopping = operation.cancelRequested && operationView(operation).isActive;
        notify(`${titleOf(action)}: ${operationId} is ${isStopping ? 'stopping' : operation.status}`);
      }}
      onClose={onClose}
    >
      <p>
        {view.type} on {view.machineId}: {effect}.
      </p>
      {isDestructive && REPEATS.includes(action) && (
        <p className="fault">
          This is destructive: {lowerFirst(PHASE_GATED_TYPES[view.type as PhaseGatedType].description)}.
        </p>
      )}
    </ReasonDialog>
  );
}

/** An active operation is canceled by the public call; giving up a failed one is an operator action. */
function takeAction(view: OperationView, action: OperatorAction, reason: string): Promise<Operation> {
  const { operationId } = view;
  if (action === 'cancel' && view.isActive) return machines.cancelOperation({ operationId, reason });
  const name = action.toUpperCase() as Uppercase<OperatorAction>;
  return admin.actOnOperation({ operationId, action: OperatorAction_Value[name], reason });
}

function lowerFirst(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}
