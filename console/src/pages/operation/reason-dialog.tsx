/** Asks for the reason of what is about to happen to an operation, and shows the operation that the server returns. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Operation } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { failureOf } from '../../api/failure.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/command.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { operationKey } from './operation-key.ts';

export interface ReasonDialogProps {
  readonly operationId: string;
  /** What the button says; with the id it is the title. */
  readonly verb: string;
  readonly kind: 'primary' | 'danger-primary';
  readonly reason: 'required' | 'optional';
  /** The other button, where "Cancel" could be understood as the action. */
  readonly goBack?: string;
  /** The command that does the same. */
  readonly command: (reason: string) => string;
  readonly act: (reason: string) => Promise<Operation>;
  readonly onDone: (operation: Operation) => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function ReasonDialog(props: ReasonDialogProps) {
  const { operationId, verb, kind, goBack = 'Cancel', onClose } = props;
  const [reason, setReason] = useState('');
  const queries = useQueryClient();
  const act = useMutation({
    mutationFn: () => props.act(reason.trim()),
    onSuccess: (operation) => {
      queries.setQueryData(operationKey(operationId), operation);
      props.onDone(operation);
      onClose();
    },
  });
  const fault = act.isError ? failureOf(act.error) : null;
  const isMissing = props.reason === 'required' && reason.trim() === '';
  return (
    <Dialog
      title={`${verb} ${operationId}`}
      onClose={onClose}
      onSubmit={() => act.mutate()}
      size="wide"
      foot={
        <>
          <Button onClick={onClose}>{goBack}</Button>
          <Button
            type="submit"
            kind={kind}
            disabledBecause={
              act.isPending ? 'Request in progress.' : isMissing ? 'Enter a reason first.' : ''
            }
          >
            {verb}
          </Button>
        </>
      }
    >
      {props.children}
      <label className="field">
        <span>Reason</span>
        <input
          className="input"
          autoFocus
          autoComplete="off"
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      {fault && (
        <p className="fault" role="alert">
          {fault.message} {fault.advice}
        </p>
      )}
      <Command>{props.command(reason.trim())}</Command>
    </Dialog>
  );
}
