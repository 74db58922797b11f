import { lazy, Suspense, useState } from 'react';
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
import { HeadlineBadge } from '../../ui/headline-badge.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import '../../styles/machine.css';
import { ActionDialog as OperatorActionDialog } from '../operation/operator-actions.tsx';
import { ActionBar } from './action-bar.tsx';
import { ActionDialog } from './action-dialog.tsx';
import { AgentPanel } from './agent-panel.tsx';
import { HistoryPanel } from './history-panel.tsx';
import { LifePanel } from './life-panel.tsx';
import { type MachineTab, MachineTabs } from './machine-tabs.tsx';
import { NodePanel } from './node-panel.tsx';
import { OperationsPanel } from './operations-panel.tsx';
import { OverviewTab, type OverviewTabProps } from './overview-tab.tsx';
import { SerialTab } from './serial/serial-tab.tsx';
import { SpecPanel } from './spec-panel.tsx';
import { useWhyNoBmc } from './use-bmc.ts';
import { actionMachine, useMachine } from './use-machine.ts';
import { useOperation } from './use-operation.ts';
import { useOperations } from './use-operations.ts';

/** Its code is loaded when the tab is opened. */
const HardwareTab = lazy(() =>
  import('./hardware/hardware-tab.tsx').then((m) => ({ default: m.HardwareTab })),
);

export function MachinePage({ machineId, tab }: { machineId: string; tab: MachineTab }) {
  const { data, isPending, isError, error, refetch } = useMachine(machineId);
  if (data) return <MachineShown machine={data} tab={tab} />;
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

function MachineShown({ machine, tab }: { machine: MachineView; tab: MachineTab }) {
  const { machineId } = machine;
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const forbidden = useForbidden();
  const whyNoBmc = useWhyNoBmc(machine);
  const gated = actionMachine(machine, whyNoBmc);
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
  return (
    <>
      <PageTitle title={machineId} actions={<ActionBar whyNotNow={whyNotNow} onAction={ask} />}>
        <HeadlineBadge machine={machine.message} />
      </PageTitle>
      <MachineTabs machineId={machineId} shown={tab} />
      <div className="stack machine takes-width">
        <TabContent
          tab={tab}
          machine={machine}
          whyNoBmc={whyNoBmc}
          whyNotNow={whyNotNow}
          onAction={ask}
          onOperationAction={askOperation}
        />
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

interface TabContentProps extends OverviewTabProps {
  readonly tab: MachineTab;
  readonly whyNoBmc: string | null;
}

function TabContent({ tab, whyNoBmc, ...props }: TabContentProps) {
  const { machine, whyNotNow, onAction } = props;
  const actions = { whyNotNow, onAction };
  const operations = useOperations(machine.machineId);
  switch (tab) {
    case 'overview':
      return <OverviewTab {...props} operations={operations} />;
    case 'hardware':
      return (
        <>
          <Suspense fallback={<Loading lines={6} />}>
            <HardwareTab machine={machine} whyNoBmc={whyNoBmc} {...actions} />
          </Suspense>
          <AgentPanel machine={machine} />
          {machine.install !== '' && <NodePanel machine={machine} />}
        </>
      );
    case 'console':
      return <SerialTab machineId={machine.machineId} />;
    case 'operations':
      return (
        <Panel title="Operations" padding="none">
          <OperationsPanel list={operations} />
        </Panel>
      );
    case 'history':
      return (
        <>
          <LifePanel machine={machine} operations={operations} />
          <Panel title="Events" padding="none">
            <HistoryPanel machineId={machine.machineId} />
          </Panel>
        </>
      );
    case 'configuration':
      return <SpecPanel machine={machine} />;
  }
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
