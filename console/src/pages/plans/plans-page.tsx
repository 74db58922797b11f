/** The plans of the v1 API, with their steps (docs/api-v1.md). */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Plan, Step } from '../../../../src/gen/baremetal/v1/plan_pb.ts';
import { plans } from '../../api/clients.ts';
import { listOf, quoted } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Command } from '../../ui/command.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { durationText } from '../../ui/time.tsx';

export function PlansPage() {
  const list = useInfiniteQuery({
    queryKey: ['plans'],
    queryFn: ({ pageParam }) => plans.listPlans({ pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
  });
  const all = list.data?.pages.flatMap((page) => page.plans) ?? [];
  return (
    <>
      <PageTitle title="Plans" />
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
          <PlanPanel key={plan.planId} plan={plan} />
        ))}
      </div>
      <LoadMore list={list} />
    </>
  );
}

function PlanPanel({ plan }: { plan: Plan }) {
  return (
    <Panel
      title={plan.displayName || plan.planId}
      padding="none"
      actions={<Link href={listOf('/operations', `plan_id = ${quoted(plan.planId)}`)}>View operations</Link>}
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
