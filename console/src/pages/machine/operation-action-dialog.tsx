import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { OPERATOR_ACTIONS, type OperatorAction } from '../../../../src/domain/operator-action.ts';
import { OperatorAction_Value } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { admin } from '../../api/clients.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/command.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { CallFault } from './action-dialog.tsx';
import { shellWord } from './action-form.ts';

const VALUES = {
  retry_stage: OperatorAction_Value.RETRY_STAGE,
  resume: OperatorAction_Value.RESUME,
  rerun: OperatorAction_Value.RERUN,
  restart_clean: OperatorAction_Value.RESTART_CLEAN,
  cancel: OperatorAction_Value.CANCEL,
  adopt_observed_state: OperatorAction_Value.ADOPT_OBSERVED_STATE,
  mark_manual_intervention_required: OperatorAction_Value.MARK_MANUAL_INTERVENTION_REQUIRED,
} as const satisfies Record<OperatorAction, OperatorAction_Value>;

export function operatorActionTitle(action: OperatorAction): string {
  const words = OPERATOR_ACTIONS[action].verb.replaceAll('-', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)} the operation`;
}

export interface OperationActionDialogProps {
  readonly action: OperatorAction;
  readonly operationId: string;
  readonly onClose: () => void;
}

export function OperationActionDialog({ action, operationId, onClose }: OperationActionDialogProps) {
  const [reason, setReason] = useState('');
  const queries = useQueryClient();
  const { tell } = useToasts();
  const title = operatorActionTitle(action);
  const call = useMutation({
    mutationFn: () => admin.actOnOperation({ operationId, action: VALUES[action], reason: reason.trim() }),
    onSuccess: ({ machineId }) => {
      tell(`${title}: ${operationId}`);
      void queries.invalidateQueries({ queryKey: ['operation', operationId] });
      void queries.invalidateQueries({ queryKey: ['machine', machineId] });
      void queries.invalidateQueries({ queryKey: ['explanation', machineId] });
      onClose();
    },
  });
  const missing = reason.trim() === '' ? 'Give a reason; it goes into the history.' : '';
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={() => {
        if (missing === '' && !call.isPending) call.mutate();
      }}
      foot={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button
            type="submit"
            kind="primary"
            disabledBecause={call.isPending ? 'The server is being asked.' : missing}
          >
            {title}
          </Button>
        </>
      }
    >
      <p>
        <code>{operationId}</code>: {OPERATOR_ACTIONS[action].effect}.
      </p>
      <label className="field">
        <span>Reason, for the history</span>
        <input
          className="input"
          maxLength={1000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      {call.isError && <CallFault error={call.error} />}
      <div>
        <p className="soft">The same at a terminal:</p>
        <Command>
          {`ingot op ${OPERATOR_ACTIONS[action].verb} ${operationId} --reason ${shellWord(reason.trim() || '…')}`}
        </Command>
      </div>
    </Dialog>
  );
}
