/** One operation: what was requested, its progress, its log and the available actions. */
import '../../styles/operation.css';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { operationLifecycle } from '../../../../src/domain/operation/operation-status.ts';
import type { OperatorAction } from '../../../../src/domain/operation/operator-action.ts';
import { operations } from '../../api/clients.ts';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import { type OperationView, operationView } from '../../operation-view.ts';
import { operationWords } from '../../operation-words.ts';
import { machineHref } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Failed, Loading } from '../../ui/blank.tsx';
import { CopyableId } from '../../ui/copyable-id.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { ApprovalPanel } from './approval-panel.tsx';
import { CliPanel } from './cli-panel.tsx';
import { Facts } from './facts.tsx';
import { HistoryPanel } from './history-panel.tsx';
import { LogPanel } from './log-panel.tsx';
import { NextPanel } from './next-panel.tsx';
import { operationKey } from './operation-key.ts';
import { ActionButtons, ActionDialog, useOfferedActions } from './operator-actions.tsx';
import { ProgressStrip } from './progress-strip.tsx';
import { RawPanel } from './raw-panel.tsx';
import { SameErrorPanel } from './same-error-panel.tsx';
import { StepsPanel } from './steps-panel.tsx';

export function OperationPage({ operationId }: { operationId: string }) {
  const asked = useQuery({
    queryKey: operationKey(operationId),
    queryFn: () => operations.getOperation({ operationId }),
  });
  const view = asked.data ? operationView(asked.data) : null;
  const [, navigate] = useLocation();
  const [chosen, choose] = useState<OperatorAction | null>(null);
  const [step, setStep] = useUrlParam('step', 'replace');
  const offered = useOfferedActions(view);
  useOfferActions([
    ...offered.map(({ action, title, disabledBecause }) => ({
      text: `${title} ${operationId}`,
      disabledBecause,
      run: () => choose(action),
    })),
    ...(view
      ? [
          {
            text: `Open ${view.machineId}`,
            disabledBecause: '',
            run: () => navigate(machineHref(view.machineId)),
          },
        ]
      : []),
  ]);
  return (
    <>
      <PageTitle
        title={view ? `${operationWords(view.type)} ${view.machineId}` : 'Operation'}
        actions={view && <ActionButtons view={view} offered={offered} onChoose={choose} />}
      >
        {view && <States view={view} />}
        <CopyableId id={operationId} />
      </PageTitle>
      {asked.isPending && <Loading lines={8} />}
      {asked.isError && !view && (
        <Failed
          what={`Failed to load ${operationId}`}
          error={asked.error}
          onRetry={() => void asked.refetch()}
        />
      )}
      {view && (
        <div className="stack">
          <Facts view={view} />
          <ProgressStrip view={view} />
          <ApprovalPanel view={view} />
          <NextPanel view={view} offered={offered} onChoose={choose} />
          <SameErrorPanel view={view} />
          <div className="op-panes takes-width">
            <StepsPanel view={view} shown={step} onShow={setStep} />
            <LogPanel operationId={operationId} isActive={view.isActive} step={step} onStep={setStep} />
          </div>
          <HistoryPanel operationId={operationId} />
          <CliPanel view={view} />
          <RawPanel operation={view.message} />
        </div>
      )}
      {view && chosen && <ActionDialog view={view} action={chosen} onClose={() => choose(null)} />}
    </>
  );
}

function States({ view }: { view: OperationView }) {
  const { meaning } = operationLifecycle.states[view.status] ?? { meaning: '' };
  return <StateBadge layer="operation_phase" state={view.phase} title={`${view.status}: ${meaning}`} />;
}
