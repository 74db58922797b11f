/** Asks for the reason of what is about to happen to an operation or a rollout. */
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { failureOf } from '../api/failure.ts';
import { Button } from './button.tsx';
import { Command } from './command.tsx';
import { Dialog } from './dialog.tsx';

export interface ReasonDialogProps<T> {
  /** What it happens to; with the verb it is the title, unless there is another. */
  readonly about: string;
  readonly title?: string;
  /** What the button says. */
  readonly verb: string;
  readonly kind: 'primary' | 'danger-primary';
  readonly reason: 'required' | 'optional';
  /** The other button, where "Cancel" could be understood as the action. */
  readonly goBack?: string;
  /** What is still missing or wrong in the fields of the caller; empty when nothing is. */
  readonly missing?: string;
  /** The command that does the same. */
  readonly command: (reason: string) => string;
  readonly act: (reason: string) => Promise<T>;
  readonly onDone: (changed: T) => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function ReasonDialog<T>(props: ReasonDialogProps<T>) {
  const { about, verb, kind, goBack = 'Cancel', missing = '', onClose } = props;
  const [reason, setReason] = useState('');
  const act = useMutation({
    mutationFn: () => props.act(reason.trim()),
    onSuccess: (changed) => {
      props.onDone(changed);
      onClose();
    },
  });
  const fault = act.isError ? failureOf(act.error) : null;
  const isMissing = props.reason === 'required' && reason.trim() === '';
  return (
    <Dialog
      title={props.title ?? `${verb} ${about}`}
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
              act.isPending ? 'Request in progress.' : missing || (isMissing ? 'Enter a reason first.' : '')
            }
          >
            {verb}
          </Button>
        </>
      }
    >
      {props.children}
      <label className="field">
        <span>{props.reason === 'required' ? 'Reason' : 'Reason (optional)'}</span>
        <input
          className="input"
          autoFocus
          autoComplete="off"
          maxLength={1000}
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
