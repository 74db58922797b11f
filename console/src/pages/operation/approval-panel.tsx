/** The approval that an operation waits for or had, and the buttons that decide it. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Approval } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { admin } from '../../api/clients.ts';
import { METHODS, useForbidden, useIdentity } from '../../identity.tsx';
import type { OperationView } from '../../operation-view.ts';
import { Button } from '../../ui/button.tsx';
import { ReasonDialog } from '../../ui/reason-dialog.tsx';
import { Age, TimeLeft } from '../../ui/time.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { decisionLine } from './command-lines.ts';
import { operationKey } from './operation-key.ts';

type Decision = 'approve' | 'reject';

export function ApprovalPanel({ view }: { view: OperationView }) {
  const { approval } = view.message;
  const [chosen, choose] = useState<Decision | null>(null);
  if (!approval) return null;
  const isWaiting = approval.state === 'waiting' && view.isActive;
  return (
    <section className={`next-panel tone-${isWaiting ? 'orange' : 'gray'}`} aria-label="Approval">
      {isWaiting ? (
        <Waiting view={view} approval={approval} onChoose={choose} />
      ) : (
        <Decided approval={approval} />
      )}
      {chosen && <DecisionDialog view={view} decision={chosen} onClose={() => choose(null)} />}
    </section>
  );
}

function Waiting({
  view,
  approval,
  onChoose,
}: {
  view: OperationView;
  approval: Approval;
  onChoose: (decision: Decision) => void;
}) {
  const { name } = useIdentity();
  const forbidden = useForbidden();
  const requester = view.message.startedBy.slice(view.message.startedBy.indexOf(':') + 1);
  const isOwn = name === requester;
  const role = approval.approverRole === 'admin' ? 'admin' : 'operator';
  return (
    <>
      <p>
        <strong>Waiting for approval</strong> by another operator (rule {approval.rule}). Without an answer it
        is canceled in <TimeLeft until={approval.expiresAt} />.
      </p>
      <p className="next-advice">
        <Button
          kind="primary"
          disabledBecause={
            isOwn ? 'You requested it: another operator must approve.' : forbidden(role, METHODS.approve)
          }
          onClick={() => onChoose('approve')}
        >
          Approve
        </Button>
        <Button
          kind="danger"
          disabledBecause={forbidden('operator', METHODS.reject)}
          onClick={() => onChoose('reject')}
        >
          Reject
        </Button>
      </p>
    </>
  );
}

function Decided({ approval: { state, decidedBy, decidedAt, rule, comment } }: { approval: Approval }) {
  if (state === 'waiting') return <p>Canceled before it was approved (rule {rule}).</p>;
  if (state === 'expired') return <p>Not approved in time (rule {rule}).</p>;
  return (
    <p>
      {state === 'approved' ? 'Approved' : 'Rejected'} by {decidedBy} <Age at={decidedAt} /> (rule {rule})
      {comment === '' ? '.' : `: ${comment}`}
    </p>
  );
}

const VERBS = { approve: 'Approve', reject: 'Reject' } as const satisfies Record<Decision, string>;

function DecisionDialog({
  view: { operationId, machineId, type },
  decision,
  onClose,
}: {
  view: OperationView;
  decision: Decision;
  onClose: () => void;
}) {
  const { notify } = useToasts();
  const queries = useQueryClient();
  return (
    <ReasonDialog
      about={operationId}
      verb={VERBS[decision]}
      kind={decision === 'approve' ? 'primary' : 'danger-primary'}
      reason={decision === 'approve' ? 'optional' : 'required'}
      command={(reason) => decisionLine(decision, operationId, reason)}
      act={(reason) =>
        decision === 'approve'
          ? admin.approveOperation({ operationId, reason })
          : admin.rejectOperation({ operationId, reason })
      }
      onDone={(operation) => {
        queries.setQueryData(operationKey(operationId), operation);
        notify(`${operationId} is ${decision === 'approve' ? 'approved' : 'rejected'}`);
      }}
      onClose={onClose}
    >
      <p>
        {type} on {machineId}: {decision === 'approve' ? 'it starts at once.' : 'it is canceled.'}
      </p>
    </ReasonDialog>
  );
}
