/** Agents, with their last keepalives and metrics. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import { METRICS, type MetricName } from '../../../../src/domain/agent/agent.ts';
import { metricText } from '../../../../src/domain/agent/metric-text.ts';
import { presenceLifecycle } from '../../../../src/domain/agent/presence.ts';
import { statesOf } from '../../../../src/domain/lifecycle/lifecycle.ts';
import type { Machine } from '../../../../src/gen/baremetal/v2/machine_pb.ts';
import { machines } from '../../api/clients.ts';
import { failureOf, isInvalid } from '../../api/failure.ts';
import { useRowKeys } from '../../keyboard/use-row-keys.ts';
import { machineHref } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/command.tsx';
import { FilterBox } from '../../ui/filter-box.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { SchedulableBadge } from '../../ui/schedulable-badge.tsx';
import { Age } from '../../ui/time.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';

const PAGE = 100;
/** Keepalives are not events, so the list is polled. */
const POLL_AFTER_MS = 20_000;
const ANY_AGENT = statesOf(presenceLifecycle)
  .map((presence) => `presence = ${presence}`)
  .join(' OR ');
const SCHEDULABLE_FILTERS = [
  { text: 'schedulable', filter: 'schedulable = true' },
  { text: 'not schedulable', filter: 'schedulable = false' },
] as const;
const SHOWN_METRICS = [
  'cpu_utilization_pct',
  'memory_utilization_pct',
  'free_gpu_count',
  'container_count',
] as const satisfies readonly MetricName[];

export function AgentsPage() {
  const [filter, setFilter] = useUrlParam('filter');
  const [, navigate] = useLocation();
  const asked = filter === '' ? ANY_AGENT : `(${filter}) AND (${ANY_AGENT})`;
  const list = useInfiniteQuery({
    queryKey: ['fleet-wide', 'agents', asked],
    queryFn: ({ pageParam }) =>
      machines.listMachines({ filter: asked, pageSize: PAGE, pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
    refetchInterval: POLL_AFTER_MS,
  });
  const agents = list.data?.pages.flatMap((page) => page.machines) ?? [];
  const { marked } = useRowKeys(agents.length, (row) => navigate(machineHref(agents[row]?.machineId ?? '')));
  return (
    <>
      <PageTitle title="Agents" />
      <FilterBox
        label="Filter agents"
        value={filter}
        onApply={setFilter}
        placeholder='presence = expired AND pool = "gpu"'
        fault={list.isError && isInvalid(list.error) ? failureOf(list.error).message : ''}
      />
      <div className="row kinds" role="toolbar" aria-label="Presence">
        {['', ...statesOf(presenceLifecycle)].map((presence) => {
          const wanted = presence === '' ? '' : `presence = ${presence}`;
          return (
            <Button key={presence} kind="quiet" pressed={filter === wanted} onClick={() => setFilter(wanted)}>
              {presence || 'all'}
            </Button>
          );
        })}
        {SCHEDULABLE_FILTERS.map(({ text, filter: wanted }) => (
          <Button key={text} kind="quiet" pressed={filter === wanted} onClick={() => setFilter(wanted)}>
            {text}
          </Button>
        ))}
      </div>
      <Panel title="Agents" padding="none">
        {list.isPending && <Loading lines={6} />}
        {list.isError && !isInvalid(list.error) && (
          <Failed what="Failed to load agents" error={list.error} onRetry={() => void list.refetch()} />
        )}
        {list.isSuccess && agents.length === 0 && (
          <Empty title={filter === '' ? 'No agents yet' : 'No results'}>
            {filter === '' ? (
              <Command>ingot machine create --pool gpu</Command>
            ) : (
              'Clear the filter to see all agents.'
            )}
          </Empty>
        )}
        {agents.length > 0 && <AgentTable agents={agents} marked={marked} />}
        <LoadMore list={list}>{agents.length} shown</LoadMore>
      </Panel>
    </>
  );
}

function AgentTable({ agents, marked }: { agents: readonly Machine[]; marked: number }) {
  return (
    <table className="table fixed headings-wrap">
      <thead>
        <tr>
          <th>Machine</th>
          <th className="narrow">Presence, schedulable</th>
          <th className="narrow">Pool</th>
          <th className="narrow">Last keepalive</th>
          {SHOWN_METRICS.map((name) => (
            <th key={name} className="number narrow" title={name}>
              {METRICS[name].meaning}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {agents.map(({ machineId, status }, row) => (
          <tr key={machineId} aria-selected={row === marked}>
            <td>
              <Link className="mono" href={machineHref(machineId)}>
                {machineId}
              </Link>
              <div className="soft clipped">
                {[
                  status?.agent?.hostname,
                  status?.agent?.privateIp,
                  status?.agent?.agentVersion,
                  ...(status?.agent?.gpus ?? []).map(({ model, count }) => `${count} × ${model}`),
                ]
                  .filter(Boolean)
                  .join(' · ')}
              </div>
            </td>
            <td>
              <StateBadge layer="presence" state={status?.presence ?? ''} />
              <div>
                <SchedulableBadge status={status} />
              </div>
            </td>
            <td className="wraps">{status?.pool}</td>
            <td>
              <Age at={status?.agent?.lastKeepalive} />
            </td>
            {SHOWN_METRICS.map((name) => (
              <td key={name} className="number">
                {metricText(name, status?.agent?.metrics[name])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
