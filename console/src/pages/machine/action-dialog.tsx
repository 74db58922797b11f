import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import {
  type ActionMachine,
  MACHINE_ACTIONS,
  type MachineAction,
  type MachineActionInfo,
} from '../../../../src/domain/machine/machine-action.ts';
import { failureOf } from '../../api/failure.ts';
import { newRequestId } from '../../api/request-id.ts';
import { operationHref } from '../../pages.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/command.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { CALLS } from './action-calls.ts';
import { ActionField } from './action-fields.tsx';
import { asksForName, commandOf, FIELDS_OF, type FieldName, firstValues, missing } from './action-form.ts';

export interface ActionDialogProps {
  readonly action: MachineAction;
  readonly machine: ActionMachine;
  /** Values to fill in. */
  readonly known: Readonly<Record<string, string>>;
  readonly onClose: () => void;
}

export function ActionDialog({ action, machine, known, onClose }: ActionDialogProps) {
  const { machineId } = machine;
  const info: MachineActionInfo = MACHINE_ACTIONS[action];
  const fields: readonly FieldName[] = FIELDS_OF[action];
  const [values, setValues] = useState(() => firstValues(action, machine, known));
  const [typedName, setTypedName] = useState('');
  const [requestId] = useState(newRequestId);
  const queries = useQueryClient();
  const { notify } = useToasts();
  const call = useMutation({
    mutationFn: () => CALLS[action]({ machineId, requestId, values }),
    onSuccess: ({ operationId }) => {
      notify(
        operationId === '' ? (
          `${info.title}: done`
        ) : (
          <>
            {info.title} started on {machineId}: <Link href={operationHref(operationId)}>{operationId}</Link>
          </>
        ),
      );
      void queries.invalidateQueries({ queryKey: ['machine', machineId] });
      void queries.invalidateQueries({ queryKey: ['explanation', machineId] });
      void queries.invalidateQueries({ queryKey: ['bmc', machineId] });
      onClose();
    },
  });
  // The machine may have changed while the dialog was open.
  const danger = asksForName(action, values);
  const refusal = info.whyNot(machine) ?? missing(action, values, machineId, typedName);
  return (
    <Dialog
      title={`${info.title}: ${machineId}`}
      onClose={onClose}
      onSubmit={() => {
        if (refusal === '' && !call.isPending) call.mutate();
      }}
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind={danger === '' ? 'primary' : 'danger-primary'}
            disabledBecause={call.isPending ? 'Request in progress.' : refusal}
          >
            {info.title}
          </Button>
        </>
      }
    >
      <p>{info.effect}.</p>
      {fields.map((field) => (
        <ActionField
          key={field}
          action={action}
          field={field}
          machine={machine}
          value={values[field]}
          onChange={(value) => setValues((before) => ({ ...before, [field]: value }))}
        />
      ))}
      {danger !== '' && (
        <label className="field">
          <span>
            {danger} Type <code>{machineId}</code> to confirm
          </span>
          <input
            className="input mono"
            autoComplete="off"
            spellCheck={false}
            value={typedName}
            onChange={(event) => setTypedName(event.target.value)}
          />
        </label>
      )}
      {call.isError && <CallFault error={call.error} />}
      <div>
        <p className="soft">CLI command:</p>
        <Command>{commandOf(action, machineId, values)}</Command>
      </div>
    </Dialog>
  );
}

export function CallFault({ error }: { error: unknown }) {
  const { message, advice } = failureOf(error);
  return (
    <p className="fault" role="alert">
      {message} {advice}
    </p>
  );
}
