import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import { METRIC_NAMES, METRICS } from '../../../../src/domain/agent/agent.ts';
import { bytesText, metricText } from '../../../../src/domain/agent/metric-text.ts';
import type { Agent } from '../../../../src/gen/baremetal/v2/machine_pb.ts';
import { fleet } from '../../api/clients.ts';
import { failureOf } from '../../api/failure.ts';
import type { MachineView } from '../../machine-view.ts';
import { Empty } from '../../ui/blank.tsx';
import { Command } from '../../ui/command.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age, Clock, msOf } from '../../ui/time.tsx';
import { chartsWith, mergeSamples, type Sample } from './metric-series.ts';

const MetricChart = lazy(() => import('./metric-chart.tsx').then((m) => ({ default: m.MetricChart })));

/** What the machine's agent reported: hardware at registration, metrics with every keepalive. */
export function AgentPanel({ machine }: { machine: MachineView }) {
  const { machineId, pool } = machine;
  const agent = machine.message.status?.agent;
  if (!agent) {
    return (
      <Panel title="Hardware and agent">
        <Empty title="No agent">
          <span>An agent reports hardware, metrics and keepalives. Create its token with:</span>
          <Command>{`ingot machine create --machine-id ${machineId} --pool ${pool || '<pool>'}`}</Command>
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel title="Hardware and agent">
      <div className="stack">
        <Facts agent={agent} pool={pool} />
        <Metrics machineId={machineId} agent={agent} />
      </div>
    </Panel>
  );
}

function gpusText({ gpuCount, gpus }: Agent): string {
  if (gpus.length === 0) return String(gpuCount);
  return gpus.map(({ model, count }) => `${count} × ${model}`).join(', ');
}

function Facts({ agent, pool }: { agent: Agent; pool: string }) {
  const isRegistered = agent.registeredAt !== undefined;
  const facts: readonly (readonly [string, React.ReactNode])[] = [
    ['Hostname', agent.hostname],
    ['CPU', isRegistered && metricText('total_cpu_available', Number(agent.cpuMillicores))],
    ['Memory', isRegistered && bytesText(Number(agent.memoryBytes))],
    ['GPUs', isRegistered && gpusText(agent)],
    ['Private IP', agent.privateIp],
    ['Pool', pool],
    ['Agent version', agent.agentVersion],
    ['Registered', agent.registeredAt && <Age at={agent.registeredAt} />],
    ['Last keepalive', agent.lastKeepalive && <Age at={agent.lastKeepalive} />],
    ['Expires without keepalive', agent.expiresAt && <Clock at={agent.expiresAt} />],
  ];
  return (
    <dl className="facts wide-facts">
      {facts.map(([name, value]) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd>{value === undefined || value === '' || value === false ? '–' : value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Metrics({ machineId, agent }: { machineId: string; agent: Agent }) {
  const history = useQuery({
    queryKey: ['metrics', machineId],
    queryFn: async () =>
      (await fleet.getMetricHistory({ machineId })).samples.map(
        ({ at, metrics }): Sample => ({ at: msOf(at) ?? 0, metrics }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const live = useLiveSamples(agent);
  const samples = useMemo(() => mergeSamples(history.data ?? [], live), [history.data, live]);
  const charts = chartsWith(samples);
  const others = METRIC_NAMES.filter((name) => agent.metrics[name] !== undefined);
  if (others.length === 0 && charts.length === 0) return <p className="soft">No metrics yet.</p>;
  return (
    <>
      {history.isError && (
        <p className="soft">Failed to load earlier metrics: {failureOf(history.error).message}</p>
      )}
      <div className="charts">
        {charts.map((chart) => (
          <Suspense key={chart.title} fallback={<div className="chart waiting" />}>
            <MetricChart chart={chart} samples={samples} />
          </Suspense>
        ))}
      </div>
      <details>
        <summary>All {others.length} metrics from the last keepalive</summary>
        <table className="table">
          <tbody>
            {others.map((name) => (
              <tr key={name}>
                <th scope="row" className="mono">
                  {name}
                </th>
                <td>{METRICS[name].meaning}</td>
                <td className="number">{metricText(name, agent.metrics[name])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  );
}

/** The samples received since the page was opened. */
function useLiveSamples({ lastKeepalive, metrics }: Agent): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  const at = msOf(lastKeepalive);
  useEffect(() => {
    if (at === null || Object.keys(metrics).length === 0) return;
    setSamples((before) => (before.at(-1)?.at === at ? before : mergeSamples(before, [{ at, metrics }])));
  }, [at, metrics]);
  return samples;
}
