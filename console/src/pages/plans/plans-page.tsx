/** The plans of the v1 API, with their steps (docs/api-v1.md). */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Plan, Step } from '../../../../src/gen/baremetal/v1/plan_pb.ts';
import { plans } from '../../api/clients.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import { listOf, quoted } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/command.tsx';
import { Icon } from '../../ui/icon.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { durationText } from '../../ui/time.tsx';
import { NewPlanDialog, RunPlanDialog } from './plan-dialogs.tsx';

type OpenDialog = { readonly about: 'new' } | { readonly about: 'run'; readonly plan: Plan };

export function PlansPage() {
  const [dialog, open] = useState<OpenDialog | null>(null);
  const forbidden = useForbidden();
  const mayNotCreate = forbidden('admin', METHODS.createPlans);
  const mayNotRun = forbidden('operator', METHODS.startRuns);
  const create = () => open({ about: 'new' });
  const close = () => open(null);
  useOfferActions([{ text: 'New plan', disabledBecause: mayNotCreate, run: create }]);
  const list = useInfiniteQuery({
    queryKey: ['plans'],
    queryFn: ({ pageParam }) => plans.listPlans({ pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
  });
  const all = list.data?.pages.flatMap((page) => page.plans) ?? [];
  return (
    <>
      <PageTitle
        title="Plans"
        actions={
          <Button kind="primary" disabledBecause={mayNotCreate} onClick={create}>
            <Icon name="plus" /> New plan
          </Button>
        }
      />
      {list.isPending && <Loading lines={6} />}
      {list.isError && !list.data && (
        <Failed what="Failed to load plans" error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isSuccess && all.length === 0 && (
        <Empty title="No plans">
          <Command>ingot plan create --file plan.yaml</Command>
        </Empty>
      )}
      <div className="stack">
        {all.map((plan) => (
          <PlanPanel
            key={plan.planId}
            plan={plan}
            mayNotRun={mayNotRun}
            onRun={() => open({ about: 'run', plan })}
          />
        ))}
      </div>
      <LoadMore list={list} />
      {dialog?.about === 'new' && <NewPlanDialog onClose={close} />}
      {dialog?.about === 'run' && <RunPlanDialog plan={dialog.plan} onClose={close} />}
    </>
  );
}

interface PlanPanelProps {
  readonly plan: Plan;
  /** Empty: the caller may. */
  readonly mayNotRun: string;
  readonly onRun: () => void;
}

function PlanPanel({ plan, mayNotRun, onRun }: PlanPanelProps) {
  return (
    <Panel
      title={plan.displayName || plan.planId}
      padding="none"
      actions={
        <>
          <Link href={listOf('/operations', `plan_id = ${quoted(plan.planId)}`)}>View operations</Link>
          <Button label={`Run ${plan.planId}`} disabledBecause={mayNotRun} onClick={onRun}>
            Run
          </Button>
        </>
      }
    >
      <p className="by-type soft">
        <code>{plan.planId}</code>
        {plan.defaultFor && <span>default plan for {plan.defaultFor}</span>}
      </p>
      <table className="table">
        <thead>
          <tr>
            <th className="number">#</th>
            <th>Step</th>
            <th>Kind</th>
            <th>Settings</th>
            <th>Time limit</th>
            <th className="number">Retries</th>
          </tr>
        </thead>
        <tbody>
          {plan.steps.map((step, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps have no other identity than their position
            <tr key={index}>
              <td className="number">{index + 1}</td>
              <td>{step.name}</td>
              <td>{step.kind.case}</td>
              <td className="mono">{settingsOf(step)}</td>
              <td>{durationText(step.timeoutSeconds * 1000)}</td>
              <td className="number">{step.maxRetries ?? 0}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function settingsOf({ kind }: Step): string {
  return Object.entries(kind.value ?? {})
    .filter(([name, value]) => !name.startsWith('$') && value !== '' && value !== false)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');
}
