/** Stores a plan, and runs one on a machine. */
import { fromJsonString } from '@bufbuild/protobuf';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { operationIdOf } from '../../../../src/domain/v1/run-id.ts';
import { RUN_TYPE_NAMES } from '../../../../src/domain/v1/run-type.ts';
import { type Plan, PlanSchema } from '../../../../src/gen/baremetal/v1/plan_pb.ts';
import { admin, runs } from '../../api/clients.ts';
import { newRequestId } from '../../api/request-id.ts';
import { operationHref } from '../../pages.ts';
import { shellWord } from '../../shell-word.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { TextInput } from '../rollout-draft/text-input.tsx';

const SAMPLE = JSON.stringify(
  {
    plan_id: 'plan-reboot-and-check',
    display_name: 'Reboot and check',
    steps: [
      { name: 'reboot', reboot: {} },
      { name: 'check', timeout_seconds: 300, verify: {} },
    ],
  },
  null,
  2,
);

export function NewPlanDialog({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState(SAMPLE);
  const queries = useQueryClient();
  const { notify } = useToasts();
  const plan = readPlan(text);
  return (
    <FormDialog
      title="New plan"
      verb="Create"
      size="wide"
      missing={typeof plan === 'string' ? plan : ''}
      act={() => {
        if (typeof plan === 'string') throw new Error(plan);
        return admin.createPlan({ plan });
      }}
      onDone={({ planId }) => {
        notify(`Plan ${planId} is created`);
        void queries.invalidateQueries({ queryKey: ['plans'] });
      }}
      onClose={onClose}
      command="ingot plan create --file plan.json"
    >
      <label className="field">
        <span>Plan, as JSON</span>
        <textarea
          className="input mono"
          rows={14}
          spellCheck={false}
          aria-invalid={typeof plan === 'string' || undefined}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      {typeof plan === 'string' && <p className="hint fault">{plan}</p>}
      <p className="hint soft">
        Each step has a name and one kind: ssh, reboot, repave, netboot, join, verify, net or rma.
      </p>
    </FormDialog>
  );
}

/** The plan, or what is wrong with the text. */
function readPlan(text: string): Plan | string {
  try {
    return fromJsonString(PlanSchema, text);
  } catch (error) {
    return `This is no plan: ${error instanceof Error ? error.message : String(error)}`;
  }
}

export function RunPlanDialog({ plan, onClose }: { plan: Plan; onClose: () => void }) {
  const [machineId, setMachineId] = useState('');
  const [type, setType] = useState(plan.defaultFor || 'REBOOT');
  const [reason, setReason] = useState('');
  const [requestId] = useState(newRequestId);
  const [, navigate] = useLocation();
  const { notify } = useToasts();
  const id = machineId.trim();
  return (
    <FormDialog
      title={`Run ${plan.displayName || plan.planId}`}
      verb="Run"
      kind="danger-primary"
      missing={id === '' ? 'Enter a machine.' : ''}
      act={() =>
        runs.startRun({ requestId, machineId: id, type, planId: plan.planId, reason: reason.trim() })
      }
      onDone={({ runId }) => {
        notify(`Started ${plan.planId} on ${id}`);
        navigate(operationHref(operationIdOf(runId)));
      }}
      onClose={onClose}
      command={`ingot run start ${shellWord(id || '<machine-id>')} --type ${type} --plan ${shellWord(plan.planId)}`}
    >
      <p>A plan may reboot or erase the machine, whatever its type is.</p>
      <TextInput title="Machine" placeholder="web-r11-u14" value={machineId} onChange={setMachineId} />
      <label className="field">
        <span>Type</span>
        <select className="input" value={type} onChange={(event) => setType(event.target.value)}>
          {RUN_TYPE_NAMES.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <TextInput title="Reason (optional)" value={reason} onChange={setReason} />
    </FormDialog>
  );
}
