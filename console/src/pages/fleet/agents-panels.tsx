import { Link } from 'wouter';
import type { Pool } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { listOf, quoted } from '../../pages.ts';
import { Panel } from '../../ui/panel.tsx';
import { PoolHealth, SchedulableLink } from '../pools/pool-cells.tsx';
import { PoolList } from '../pools/pool-list.tsx';
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
          <span className={`badge tone-${agentsLost > 0 ? 'orange' : 'gray'}`}>lost</span>
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
  return (
    <Panel title="Pools" padding="none" actions={<Link href="/pools">Capacity and GPUs</Link>}>
      <PoolList table={(pools) => <PoolTable pools={pools} />} />
    </Panel>
  );
}

function PoolTable({ pools }: { pools: readonly Pool[] }) {
  return (
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
        {pools.map((pool) => {
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
  );
}
