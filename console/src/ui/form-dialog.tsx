/** A dialog with fields and one button that sends them. What is missing disables it and says so; what the server refuses is shown. */
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { failureOf } from '../api/failure.ts';
import { Button } from './button.tsx';
import { Command } from './command.tsx';
import { Dialog, type DialogProps } from './dialog.tsx';

export interface FormDialogProps<T> {
  readonly title: string;
  /** What the button says. */
  readonly verb: string;
  readonly kind?: 'primary' | 'danger-primary';
  readonly size?: DialogProps['size'];
  /** What is missing or wrong in the fields; empty: nothing is. */
  readonly missing: string;
  readonly act: () => Promise<T>;
  readonly onDone: (result: T) => void;
  readonly onClose: () => void;
  /** The command that does the same. */
  readonly command?: string;
  readonly children: ReactNode;
}

export function FormDialog<T>(props: FormDialogProps<T>) {
  const { title, verb, kind = 'primary', size = 'usual', missing, onClose, command, children } = props;
  const call = useMutation({
    mutationFn: props.act,
    onSuccess: (result) => {
      props.onDone(result);
      onClose();
    },
  });
  return (
    <Dialog
      title={title}
      size={size}
      onClose={onClose}
      onSubmit={() => call.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind={kind}
            disabledBecause={call.isPending ? 'Request in progress.' : missing}
          >
            {verb}
          </Button>
        </>
      }
    >
      {children}
      {call.isError && (
        <p className="fault" role="alert">
          {failureOf(call.error).message} {failureOf(call.error).advice}
        </p>
      )}
      {command !== undefined && <Command>{command}</Command>}
    </Dialog>
  );
}
