import { useState } from 'react';
import {
  MACHINE_ACTION_NAMES,
  MACHINE_ACTIONS,
  type MachineAction,
} from '../../../../src/domain/machine/machine-action.ts';
import type { OperatorAction } from '../../../../src/domain/operation/operator-action.ts';
import { useForbidden } from '../../identity.tsx';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import type { MachineView } from '../../machine-view.ts';
import { Failed, Loading } from '../../ui/blank.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import '../../styles/machine.css';
import { ActionDialog as OperatorActionDialog } from '../operation/operator-actions.tsx';
import { ActionBar } from './action-bar.tsx';
import { ActionDialog } from './action-dialog.tsx';
import { AgentPanel } from './agent-panel.tsx';
import { ConditionsPanel } from './conditions-panel.tsx';
import { ExplainPanel } from './explain-panel.tsx';
import { HistoryTabs } from './history-tabs.tsx';
import { EffectivePanel, LayersPanel } from './layers-panel.tsx';
import { NodePanel } from './node-panel.tsx';
import { OperationPanel } from './operation-panel.tsx';
import { RolloutsLine } from './rollouts-line.tsx';
import { SpecPanel } from './spec-panel.tsx';
import { actionMachine, useMachine } from './use-machine.ts';
import { useOperation } from './use-operation.ts';
import { useOperations } from './use-operations.ts';

export function MachinePage({ machineId }: { machineId: string }) {
  const { data, isPending, isError, error, refetch } = useMachine(machineId);
  if (data) return <MachineShown machine={data} />;
  return (
    <>
      <PageTitle title={machineId} />
      {isPending && <Loading lines={8} />}
      {isError && (
        <Failed what={`Failed to load ${machineId}`} error={error} onRetry={() => void refetch()} />
      )}
    </>
  );
}

/** The action whose dialog is open. */
type OpenDialog =
  | {
      readonly about: 'machine';
      readonly action: MachineAction;
      readonly known: Readonly<Record<string, string>>;
    }
  | { readonly about: 'operation'; readonly action: OperatorAction; readonly operationId: string };

function MachineShown({ machine }: { machine: MachineView }) {
  const { machineId } = machine;
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const forbidden = useForbidden();
  const gated = actionMachine(machine);
  const operations = useOperations(machineId);
  const whyNotNow = (action: MachineAction) =>
    forbidden(MACHINE_ACTIONS[action].role, [MACHINE_ACTIONS[action].method]) ||
    (MACHINE_ACTIONS[action].whyNot(gated) ?? '');
  const ask = (action: MachineAction, known: Readonly<Record<string, string>> = {}) =>
    setDialog({ about: 'machine', action, known });
  const askOperation = (action: OperatorAction, operationId: string) =>
    setDialog({ about: 'operation', action, operationId });
  useOfferActions(
    MACHINE_ACTION_NAMES.map((action) => ({
      text: `${MACHINE_ACTIONS[action].title} ${machineId}`,
      disabledBecause: whyNotNow(action),
      run: () => ask(action),
    })),
  );
  const close = () => setDialog(null);
  const newest = operations.data?.pages[0]?.[0]?.operationId ?? '';
  return (
    <>
      <PageTitle title={machineId} actions={<ActionBar whyNotNow={whyNotNow} onAction={ask} />} />
      <div className="stack machine">
        <EffectivePanel machine={machine} />
        <RolloutsLine machineId={machineId} />
        <LayersPanel machine={machine} />
        <div className="columns">
          <div className="stack">
            <ExplainPanel
              machineId={machineId}
              whyNotNow={whyNotNow}
              onAction={ask}
              onOperationAction={askOperation}
            />
            <OperationPanel
              operationId={machine.activeOperationId ?? newest}
              onOperationAction={askOperation}
            />
            <ConditionsPanel machine={machine} />
          </div>
          <div className="stack">
            <AgentPanel machine={machine} />
            <SpecPanel machine={machine} />
            {machine.install !== '' && <NodePanel machine={machine} />}
          </div>
        </div>
        <HistoryTabs machineId={machineId} operations={operations} />
      </div>
      {dialog?.about === 'machine' && (
        <ActionDialog action={dialog.action} known={dialog.known} machine={gated} onClose={close} />
      )}
      {dialog?.about === 'operation' && (
        <OperationDialog action={dialog.action} operationId={dialog.operationId} onClose={close} />
      )}
    </>
  );
}

interface OperationDialogProps {
  readonly action: OperatorAction;
  readonly operationId: string;
  readonly onClose: () => void;
}

function OperationDialog({ action, operationId, onClose }: OperationDialogProps) {
  const { data } = useOperation(operationId);
  return data ? <OperatorActionDialog view={data} action={action} onClose={onClose} /> : null;
}
