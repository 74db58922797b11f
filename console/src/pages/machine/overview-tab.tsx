/** A machine at a glance: what is wrong and what to do, its layers, what it is doing, and its life. */
import type { MachineAction } from '../../../../src/domain/machine/machine-action.ts';
import type { OperatorAction } from '../../../../src/domain/operation/operator-action.ts';
import type { MachineView } from '../../machine-view.ts';
import { ConditionsPanel } from './conditions-panel.tsx';
import { ExplainPanel } from './explain-panel.tsx';
import { FactsPanel } from './facts-panel.tsx';
import { EffectivePanel, LayersPanel } from './layers-panel.tsx';
import { LifePanel } from './life-panel.tsx';
import { OperationPanel } from './operation-panel.tsx';
import { RolloutsLine } from './rollouts-line.tsx';
import { useExplanation } from './use-machine.ts';
import type { useOperations } from './use-operations.ts';

export interface OverviewTabProps {
  readonly machine: MachineView;
  readonly whyNotNow: (action: MachineAction) => string;
  readonly onAction: (action: MachineAction, known?: Readonly<Record<string, string>>) => void;
  readonly onOperationAction: (action: OperatorAction, operationId: string) => void;
}

export function OverviewTab({
  machine,
  operations,
  ...actions
}: OverviewTabProps & { operations: ReturnType<typeof useOperations> }) {
  const { machineId } = machine;
  const newest = operations.data?.pages[0]?.[0]?.operationId ?? '';
  const obstacles = useExplanation(machineId).data?.obstacles ?? [];
  return (
    <>
      <EffectivePanel machine={machine} />
      <RolloutsLine machineId={machineId} />
      <div className="columns">
        <div className={machine.activeOperationId === null ? 'stack' : 'stack working'}>
          <ExplainPanel machineId={machineId} {...actions} />
          <OperationPanel
            operationId={machine.activeOperationId ?? newest}
            onOperationAction={actions.onOperationAction}
            explained={new Set(obstacles.map(({ operationId }) => operationId))}
          />
        </div>
        <div className="stack">
          <LayersPanel machine={machine} />
          <ConditionsPanel machine={machine} />
          <FactsPanel machine={machine} />
        </div>
      </div>
      <LifePanel machine={machine} operations={operations} />
    </>
  );
}
