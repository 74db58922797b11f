import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { failureOf } from '../../api/failure.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/command.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { approveNode, type NodeBody } from './nodes.ts';
import { WorkflowField } from './workflow-field.tsx';

/** A discovered node is approved; one whose installation failed is reset, which also resets its attempts. */
export function ApproveDialog({ node, onClose }: { node: NodeBody; onClose: () => void }) {
  const isReset = node.state === 'install_failed';
  const [workflow, setWorkflow] = useState(node.workflow ?? '');
  const [comment, setComment] = useState('');
  const queries = useQueryClient();
  const { notify } = useToasts();

  const change = useMutation({
    mutationFn: () => approveNode(node.id, { comment, force: isReset, workflow }),
    onSuccess: () => {
      notify(`${node.id} will be installed at its next boot`);
      void queries.invalidateQueries({ queryKey: ['fleet-wide', 'nodes'] });
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
            disabledBecause={change.isPending ? 'Request in progress.' : ''}
          >
            {verb}
          </Button>
        </>
      }
    >
      <p>
        {node.mac_address} {[node.vendor, node.model, node.serial_number].filter(Boolean).join(' ')}
      </p>
      {isReset && <p className="fault">{node.last_install_error}</p>}
      <p>
        <strong>Its disk is overwritten at its next boot.</strong>
      </p>
      <WorkflowField none="Default" value={workflow} onChange={setWorkflow} />
      <label className="field">
        <span>Comment (optional)</span>
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
