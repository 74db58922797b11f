import { ConnectError } from '@connectrpc/connect';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { messageOfSpec } from '../../../../src/domain/machine/spec/machine-spec.ts';
import {
  SPEC_FIELD_NAMES,
  SPEC_FIELDS,
  type SpecFieldName,
} from '../../../../src/domain/machine/spec/spec-field.ts';
import { BadRequestSchema } from '../../../../src/gen/google/rpc/error_details_pb.ts';
import { machines } from '../../api/clients.ts';
import { Button } from '../../ui/button.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { useUnsaved } from '../../unsaved.tsx';
import { CallFault } from './action-dialog.tsx';
import {
  type ConcurrentChange,
  changedPaths,
  concurrentChanges,
  type Description,
  type Draft,
  descriptionOf,
  draftOf,
  faultPath,
  faultsOf,
  rebase,
} from './spec-edit.ts';
import { LabelsField, SpecTextField } from './spec-fields.tsx';

export interface SpecEditorProps {
  readonly machineId: string;
  /** The machine's current values; they may change during the edit. */
  readonly current: Description;
  /** Null: none is active, and everything can be changed. */
  readonly activeOperationId: string | null;
  readonly onClose: () => void;
}

export function SpecEditor({ machineId, current, activeOperationId, onClose }: SpecEditorProps) {
  const [base, setBase] = useState(current);
  const [draft, setDraft] = useState<Draft>(() => draftOf(current));
  const queries = useQueryClient();
  const { notify } = useToasts();
  const edited = descriptionOf(draft);
  const paths = changedPaths(base, edited);
  const save = useMutation({
    mutationFn: () => machines.updateMachine(updateRequest(machineId, edited, paths)),
    onSuccess: () => {
      notify(`Updated ${machineId}`);
      void queries.invalidateQueries({ queryKey: ['machine', machineId] });
      onClose();
    },
  });
  useUnsaved(paths.length > 0 ? 'unsaved' : 'saved');
  const rejected = save.isError ? serverFaults(save.error) : new Map<string, string>();
  const local = faultsOf(draft);
  const faults = new Map([...rejected, ...local]);
  const reason =
    paths.length === 0 ? 'No changes to save.' : local.size > 0 ? 'Fix the invalid fields first.' : '';
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (reason === '' && !save.isPending) save.mutate();
  };
  const edit = (next: Draft) => {
    setDraft(next);
    save.reset();
  };
  const conflicts = concurrentChanges(base, current, edited);
  return (
    <form className="stack" onSubmit={submit} aria-label="Edit spec and labels">
      {conflicts.length > 0 && (
        <ConcurrentChanges
          changes={conflicts}
          onAccept={() => {
            edit(draftOf(rebase(base, current, edited)));
            setBase(current);
          }}
        />
      )}
      {SPEC_FIELD_NAMES.map((name) => (
        <SpecTextField
          key={name}
          name={name}
          value={draft.spec[name]}
          fault={faults.get(`spec.${name}`) ?? ''}
          fixedBecause={fixedBecause(name, activeOperationId)}
          onChange={(value) => edit({ ...draft, spec: { ...draft.spec, [name]: value } })}
        />
      ))}
      <LabelsField rows={draft.labels} faults={faults} onChange={(labels) => edit({ ...draft, labels })} />
      {save.isError && rejected.size === 0 && <CallFault error={save.error} />}
      <div className="row">
        <Button
          type="submit"
          kind="primary"
          disabledBecause={save.isPending ? 'Request in progress.' : reason}
        >
          Save {paths.length > 0 && `${paths.length} ${paths.length === 1 ? 'change' : 'changes'}`}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  );
}

/** Same rule as the server's: steps of an active operation read these fields. */
function fixedBecause(name: SpecFieldName, activeOperationId: string | null): string {
  if (activeOperationId === null || SPEC_FIELDS[name].whileOperationRuns === 'free') return '';
  return `Cannot be changed while operation ${activeOperationId} is active. Wait for it, or cancel it.`;
}

function updateRequest(machineId: string, { spec, labels }: Description, paths: readonly string[]) {
  return {
    machine: {
      machineId,
      labels: { ...labels },
      spec: messageOfSpec(spec),
    },
    updateMask: { paths: [...paths] },
  };
}

function serverFaults(error: unknown): Map<string, string> {
  const details = ConnectError.from(error).findDetails(BadRequestSchema);
  return new Map(
    details
      .flatMap(({ fieldViolations }) => fieldViolations)
      .map(({ field, description }) => [faultPath(field), description]),
  );
}

function ConcurrentChanges({
  changes,
  onAccept,
}: {
  changes: readonly ConcurrentChange[];
  onAccept: () => void;
}) {
  const shown = (text: string | undefined) => (text === undefined ? 'nothing' : `"${text}"`);
  return (
    <div className="concurrent-changes" role="alert">
      <strong>This machine was changed while you were editing.</strong>
      <ul>
        {changes.map(({ path, before, now, overwritten }) => (
          <li key={path}>
            <code>{path}</code> changed from {shown(before)} to {shown(now)}.
            {overwritten && <strong> Saving overwrites it with your value.</strong>}
          </li>
        ))}
      </ul>
      <Button onClick={onAccept}>Accept these changes and keep my other edits</Button>
    </div>
  );
}
