import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { failureOf } from '../../api/failure.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/command.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { approveNode, listWorkflows, type NodeBody } from './nodes.ts';

/** A discovered node is approved; one whose installation failed is reset, which begins its attempts anew. */
export function ApproveDialog({ node, onClose }: { node: NodeBody; onClose: () => void }) {
  const isReset = node.state === 'install_failed';
  const [workflow, setWorkflow] = useState(node.workflow ?? '');
  const [comment, setComment] = useState('');
  const queries = useQueryClient();
  const { tell } = useToasts();
  const workflows = useQuery({ queryKey: ['workflows'], queryFn: listWorkflows });
  const change = useMutation({
    mutationFn: () => approveNode(node.id, { comment, force: isReset, workflow }),
    onSuccess: () => {
      tell(`${node.id} is installed when it boots next`);
      void queries.invalidateQueries({ queryKey: ['sums', 'nodes'] });
      onClose();
    },
  });
  const verb = isReset ? 'Reset' : 'Approve';
  return (
    <Dialog
      title={`${verb} ${node.id}`}
      onClose={onClose}
      onSubmit={() => change.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="danger-primary"
            disabledBecause={change.isPending ? 'The server is being asked.' : ''}
          >
            {verb}: its disk is written at its next boot
          </Button>
        </>
      }
    >
      <p>
        {node.mac_address} {[node.vendor, node.model, node.serial_number].filter(Boolean).join(' ')}
      </p>
      {isReset && <p className="fault">{node.last_install_error}</p>}
      <label className="field">
        <span>Workflow</span>
        <select className="input" value={workflow} onChange={(event) => setWorkflow(event.target.value)}>
          <option value="">the default</option>
          {workflows.data?.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {workflows.isError && <p className="fault">{failureOf(workflows.error).message}</p>}
      <label className="field">
        <span>Comment, for the history</span>
        <input className="input" value={comment} onChange={(event) => setComment(event.target.value)} />
      </label>
      {change.isError && (
        <p className="fault" role="alert">
          {failureOf(change.error).message}
        </p>
      )}
      <Command>
        {isReset
          ? `ingot node state ${node.id} pending --force`
          : `ingot node approve ${node.id}${workflow === '' ? '' : ` --workflow ${workflow}`}`}
      </Command>
    </Dialog>
  );
}
