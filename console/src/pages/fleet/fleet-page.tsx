/** An overview of the fleet; every number links to what it counts. */
import { useQuery } from '@tanstack/react-query';
import { fleet } from '../../api/clients.ts';
import { Failed, Loading } from '../../ui/blank.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import '../../styles/fleet.css';
import { Ways } from '../start/start-page.tsx';
import { AgentsPanel, PoolsPanel } from './agents-panels.tsx';
import { AttentionPanel } from './attention-panel.tsx';
import { EffectiveStates } from './effective-states.tsx';
import { FailedPanel } from './failed-panel.tsx';
import { HistoryPanel } from './history-panel.tsx';
import { InProgressPanel } from './operation-panels.tsx';
import { RolloutsPanel } from './rollouts-panel.tsx';
import { UpstreamsPanel } from './upstreams-panel.tsx';

export function FleetPage() {
  const overview = useQuery({ queryKey: ['fleet-wide', 'overview'], queryFn: () => fleet.getOverview({}) });
  return (
    <>
      <PageTitle title="Fleet" />
      {overview.isPending && <Loading lines={8} />}
      {overview.isError && !overview.data && (
        <Failed
          what="Failed to load the overview"
          error={overview.error}
          onRetry={() => void overview.refetch()}
        />
      )}
      {overview.data?.machines === 0 && (
        <div className="stack">
          <p>There are no machines yet. These are the ways to the first ones.</p>
          <Ways />
        </div>
      )}
      {overview.data && overview.data.machines > 0 && (
        <div className="stack">
          <EffectiveStates overview={overview.data} />
          <div className="columns fleet-columns takes-width">
            <div className="stack">
              <UpstreamsPanel overview={overview.data} />
              <AttentionPanel overview={overview.data} />
              <RolloutsPanel overview={overview.data} />
              <AgentsPanel overview={overview.data} />
            </div>
            <div className="stack">
              <InProgressPanel overview={overview.data} />
              <FailedPanel overview={overview.data} />
              <PoolsPanel />
            </div>
          </div>
          <HistoryPanel />
        </div>
      )}
    </>
  );
}
