/** Pools: the capacity of their schedulable machines, the total, and why the other machines are not schedulable. */
import { useState } from 'react';
import { Link } from 'wouter';
import { bytesText, metricText } from '../../../../src/domain/agent/metric-text.ts';
import type { Pool, PoolCapacity } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import { listOf, quoted } from '../../pages.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { numberText } from '../fleet/counts.ts';
import { PoolHealth, SchedulableLink } from './pool-cells.tsx';
import { PoolDialog } from './pool-dialog.tsx';
import { PoolList } from './pool-list.tsx';

export function PoolsPage() {
  const [isOpen, setOpen] = useState(false);
  const forbidden = useForbidden()('admin', METHODS.createPools);
  const create = () => setOpen(true);
  useOfferActions([{ text: 'New pool', disabledBecause: forbidden, run: create }]);
  const button = (
    <Button kind="primary" disabledBecause={forbidden} onClick={create}>
      <Icon name="plus" /> New pool
    </Button>
  );
  return (
    <>
      <PageTitle title="Pools" actions={button} />
      <Panel title="Pools" padding="none">
        <PoolList table={(pools) => <PoolTable pools={pools} />} />
      </Panel>
      {isOpen && <PoolDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function PoolTable({ pools }: { pools: readonly Pool[] }) {
  return (
    <table className="table fixed headings-wrap">
      <thead>
        <tr>
          <th>Pool</th>
          <th className="narrow">Health</th>
          <th className="number narrow">Schedulable machines</th>
          <th>Not schedulable</th>
          <th className="number narrow">CPU</th>
          <th className="number narrow">Memory</th>
          <th>GPUs</th>
        </tr>
      </thead>
      <tbody>
        {pools.map((pool) => (
          <PoolRow key={pool.name} pool={pool} />
        ))}
      </tbody>
    </table>
  );
}

function PoolRow({ pool }: { pool: Pool }) {
  const { name, unschedulable, gpus } = pool;
  const inPool = `pool = ${quoted(name)}`;
  return (
    <tr>
      <td className="wraps">
        <Link href={listOf('/machines', inPool)}>{name}</Link>
      </td>
      <td>
        <PoolHealth pool={pool} />
      </td>
      <td className="number">
        <SchedulableLink pool={pool} />
      </td>
      <td className="wraps">
        {Object.entries(unschedulable).map(([reason, count]) => (
          <div key={reason}>
            <Link href={listOf('/agents', `${inPool} AND unschedulable_reason = ${reason}`)}>
              {reason.replaceAll('_', ' ')}: {numberText(count)}
            </Link>
          </div>
        ))}
      </td>
      <Capacity
        pool={pool}
        text={({ cpuMillicores }) => metricText('total_cpu_available', Number(cpuMillicores))}
      />
      <Capacity pool={pool} text={({ memoryBytes }) => bytesText(Number(memoryBytes))} />
      <td className="wraps">
        {gpus.map(({ model, schedulable: offered, total: all }) => (
          <div key={model}>
            {numberText(offered)} of {numberText(all)} × {model}
          </div>
        ))}
      </td>
    </tr>
  );
}

function Capacity({ pool, text }: { pool: Pool; text: (capacity: PoolCapacity) => string }) {
  return (
    <td className="number">
      {pool.capacity && text(pool.capacity)}
      <div className="soft">of {pool.totalCapacity && text(pool.totalCapacity)}</div>
    </td>
  );
}
