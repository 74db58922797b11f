/** One change for all selected nodes. Rejections stay on the screen, each with its reason. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { failureOf } from '../../api/failure.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { type BulkResult, changeNodes } from './nodes.ts';
import { WorkflowField } from './workflow-field.tsx';

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
  /** Called when all of them were changed. */
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
  const [rejected, setRejected] = useState<readonly BulkResult[]>([]);
  const queries = useQueryClient();
  const { notify } = useToasts();
  const send = useMutation({
    mutationFn: () => changeNodes(change, ids, bodyOf(change, fields)),
    onSuccess: (results) => {
      const failed = results.filter(({ success }) => !success);
      void queries.invalidateQueries({ queryKey: ['fleet-wide', 'nodes'] });
      notify(`Updated ${results.length - failed.length} of ${results.length} nodes`);
      setRejected(failed);
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
          <Button onClick={onClose}>{rejected.length > 0 ? 'Close' : 'Cancel'}</Button>
          <Button
            type="submit"
            kind={change === 'approve' ? 'danger-primary' : 'primary'}
            disabledBecause={
              send.isPending ? 'Request in progress.' : isEmpty ? 'Enter tags to add or remove first.' : ''
            }
          >
            {change === 'approve' ? 'Approve' : 'Save'}
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
          none={change === 'approve' ? 'Current workflow, or the default' : 'Default'}
          value={fields.workflow}
          onChange={(workflow) => setFields({ ...fields, workflow })}
        />
      )}
      {change === 'approve' && (
        <>
          <Field
            name="Comment (optional)"
            value={fields.comment}
            onChange={(comment) => setFields({ ...fields, comment })}
          />
          <p>
            <strong>Their disks are overwritten at their next boot.</strong>
          </p>
        </>
      )}
      {send.isError && (
        <p className="fault" role="alert">
          {failureOf(send.error).message}
        </p>
      )}
      {rejected.length > 0 && <Rejected results={rejected} />}
    </Dialog>
  );
}

function Rejected({ results }: { results: readonly BulkResult[] }) {
  return (
    <div role="alert">
      <p className="fault">
        {results.length === 1 ? '1 node was not updated:' : `${results.length} nodes were not updated:`}
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
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Field({ name, value, onChange }: FieldProps) {
  return (
    <label className="field">
      <span>{name}</span>
      <input className="input" value={value} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}
