/** One change for all nodes that are selected. What is refused stays on the screen, with its reason. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { failureOf } from '../../api/failure.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { type BulkResult, changeNodes, listWorkflows } from './nodes.ts';

export const BULK_CHANGES = {
  approve: 'Approve selected',
  tags: 'Tag selected',
  workflow: 'Set workflow',
} as const;
export type BulkChange = keyof typeof BULK_CHANGES;

export interface NodesDialogProps {
  readonly change: BulkChange;
  readonly ids: readonly string[];
  readonly onClose: () => void;
  /** After all of them were changed. */
  readonly onDone: () => void;
}

interface Fields {
  readonly workflow: string;
  readonly comment: string;
  readonly add: string;
  readonly remove: string;
}

const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== '');

function bodyOf(change: BulkChange, { workflow, comment, add, remove }: Fields) {
  switch (change) {
    case 'approve':
      return { ...(workflow !== '' && { workflow }), ...(comment !== '' && { comment }) };
    case 'tags':
      return { add: words(add), remove: words(remove) };
    case 'workflow':
      return { workflow };
  }
}

export function NodesDialog({ change, ids, onClose, onDone }: NodesDialogProps) {
  const [fields, setFields] = useState<Fields>({ workflow: '', comment: '', add: '', remove: '' });
  const [refused, setRefused] = useState<readonly BulkResult[]>([]);
  const queries = useQueryClient();
  const { tell } = useToasts();
  const send = useMutation({
    mutationFn: () => changeNodes(change, ids, bodyOf(change, fields)),
    onSuccess: (results) => {
      const failed = results.filter(({ success }) => !success);
      void queries.invalidateQueries({ queryKey: ['sums', 'nodes'] });
      tell(`${results.length - failed.length} of ${results.length} nodes changed`);
      setRefused(failed);
      if (failed.length > 0) return;
      onDone();
      onClose();
    },
  });
  const isEmpty = change === 'tags' && words(`${fields.add} ${fields.remove}`).length === 0;
  return (
    <Dialog
      title={`${BULK_CHANGES[change]}: ${ids.length} ${ids.length === 1 ? 'node' : 'nodes'}`}
      onClose={onClose}
      onSubmit={() => send.mutate()}
      foot={
        <>
          <Button onClick={onClose}>{refused.length > 0 ? 'Close' : 'Cancel'}</Button>
          <Button
            type="submit"
            kind={change === 'approve' ? 'danger-primary' : 'primary'}
            disabledBecause={
              send.isPending
                ? 'The server is being asked.'
                : isEmpty
                  ? 'Give tags to add or to remove first.'
                  : ''
            }
          >
            {change === 'approve' ? 'Approve: disks are written at the next boot' : 'Save'}
          </Button>
        </>
      }
    >
      {change === 'tags' ? (
        <>
          <Field name="Tags to add" value={fields.add} onChange={(add) => setFields({ ...fields, add })} />
          <Field
            name="Tags to remove"
            value={fields.remove}
            onChange={(remove) => setFields({ ...fields, remove })}
          />
        </>
      ) : (
        <WorkflowField
          unset={change === 'approve' ? 'the one it has, or the default' : 'the default'}
          value={fields.workflow}
          onChange={(workflow) => setFields({ ...fields, workflow })}
        />
      )}
      {change === 'approve' && (
        <Field
          name="Comment, for the history"
          value={fields.comment}
          onChange={(comment) => setFields({ ...fields, comment })}
        />
      )}
      {send.isError && (
        <p className="fault" role="alert">
          {failureOf(send.error).message}
        </p>
      )}
      {refused.length > 0 && <Refused results={refused} />}
    </Dialog>
  );
}

function Refused({ results }: { results: readonly BulkResult[] }) {
  return (
    <div role="alert">
      <p className="fault">
        {results.length === 1 ? 'One node was refused:' : `${results.length} nodes were refused:`}
      </p>
      <ul className="stack">
        {results.map(({ id, detail }) => (
          <li key={id}>
            <span className="mono">{id}</span> {detail}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Field({ name, value, onChange }: FieldProps & { readonly name: string }) {
  return (
    <label className="field">
      <span>{name}</span>
      <input className="input" value={value} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}

function WorkflowField({ value, onChange, unset }: FieldProps & { readonly unset: string }) {
  const workflows = useQuery({ queryKey: ['workflows'], queryFn: listWorkflows });
  return (
    <>
      <label className="field">
        <span>Workflow</span>
        <select className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">{unset}</option>
          {workflows.data?.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {workflows.isError && <p className="fault">{failureOf(workflows.error).message}</p>}
    </>
  );
}
