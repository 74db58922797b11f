import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { admin } from '../../api/clients.ts';
import { listOf, quoted } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Command } from '../../ui/command.tsx';
import { Panel } from '../../ui/panel.tsx';
import { PoolHealth, SchedulableLink } from '../pools/pool-cells.tsx';
import { reasonsText } from '../pools/reasons-text.ts';
import { numberText } from './counts.ts';

export function AgentsPanel({ overview }: { overview: Overview }) {
  const { agentsReady, agentsLost, machinesSchedulable } = overview;
  return (
    <Panel title="Agents">
      <dl className="facts">
        <dt>
          <span className="badge tone-green">ready</span>
        </dt>
        <dd>
          <Link href={listOf('/agents', 'presence = ready')}>{numberText(agentsReady)} agents</Link>
        </dd>
        <dt>
          <span className="badge tone-orange">lost</span>
        </dt>
        <dd>
          <Link href={listOf('/agents', 'presence = expired')}>{numberText(agentsLost)} agents</Link>
        </dd>
        <dt>
          <span className="badge tone-green">schedulable</span>
        </dt>
        <dd>
          <Link href={listOf('/agents', 'schedulable = true')}>
            {numberText(machinesSchedulable)} machines
          </Link>
        </dd>
      </dl>
    </Panel>
  );
}

export function PoolsPanel() {
  const pools = useQuery({
    queryKey: ['fleet-wide', 'pools'],
    queryFn: async () => (await admin.listPools({})).pools,
  });
  return (
    <Panel title="Pools" padding="none" actions={<Link href="/pools">Capacity and GPUs</Link>}>
      {pools.isPending && <Loading />}
      {pools.isError && (
        <Failed what="Failed to load pools" error={pools.error} onRetry={() => void pools.refetch()} />
      )}
      {pools.data?.length === 0 && (
        <Empty title="No pools">
          <Command>ingot pool create gpu</Command>
        </Empty>
      )}
      {pools.data && pools.data.length > 0 && (
        <table className="table">
          <thead>
            <tr>
              <th>Pool</th>
              <th>Health</th>
              <th className="number">Schedulable</th>
              <th className="number">Lost</th>
            </tr>
          </thead>
          <tbody>
            {pools.data.map((pool) => {
              const { name, machines } = pool;
              return (
                <tr key={name}>
                  <td>
                    <Link href={listOf('/machines', `pool = ${quoted(name)}`)}>{name}</Link>
                  </td>
                  <td>
                    <PoolHealth pool={pool} />
                  </td>
                  <td className="number">
                    <SchedulableLink pool={pool} title={reasonsText(pool.unschedulable)} />
                  </td>
                  <td className="number">
                    <Link
                      href={listOf('/agents', `pool = ${quoted(name)} AND presence = expired`)}
                      aria-label={`${machines.expired ?? 0} lost agents in ${name}`}
                    >
                      {numberText(machines.expired ?? 0)}
                    </Link>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
