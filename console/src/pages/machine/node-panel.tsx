import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import {
  type DiskErasure,
  ERASE_METHODS,
  type Erasure,
  outcomeText,
} from '../../../../src/domain/install/erasure.ts';
import type { HardwareInventory } from '../../../../src/domain/install/hardware-inventory.ts';
import { hardwareLines } from '../../../../src/domain/install/hardware-text.ts';
import { MAX_INSTALL_ATTEMPTS } from '../../../../src/domain/install/node.ts';
import { rest } from '../../api/rest.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import type { MachineView } from '../../machine-view.ts';
import { operationHref } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age } from '../../ui/time.tsx';
import { EditNodeDialog } from '../nodes/edit-node-dialog.tsx';
import { type HistoryBody, historyDetails, type NodeBody, nodeHistory } from '../nodes/nodes.ts';
import { BootList } from './boot-list.tsx';

interface Node extends NodeBody {
  readonly system_uuid: string | null;
  readonly notes: string | null;
  readonly group: string | null;
  readonly inventory: InventoryBody | null;
  readonly erasure: Erasure | null;
}

interface InventoryBody extends HardwareInventory {
  readonly source: string;
  readonly reported_at: string;
}

/** Progress reports are not events, so the node is polled while it is installed. */
const INSTALLING_MS = 5_000;

/** The machine as a node: it boots from the network and reports its installation (docs/nodes.md). */
export function NodePanel({ machine }: { machine: MachineView }) {
  const { machineId, install } = machine;
  const [editing, setEditing] = useState(false);
  const mayNotEdit = useForbidden()('operator', METHODS.editNodes);
  const refetchInterval = install === 'installing' ? INSTALLING_MS : false;
  const node = useQuery({
    queryKey: ['machine', machineId, 'node'],
    queryFn: async () =>
      (await rest<{ data: Node }>('GET', `/api/v1/nodes/${encodeURIComponent(machineId)}`)).data,
    refetchInterval,
  });
  const history = useQuery({
    queryKey: ['machine', machineId, 'node-history'],
    queryFn: async () => (await nodeHistory(machineId)).data,
    refetchInterval,
  });
  return (
    <Panel
      title="Node"
      actions={
        node.data && (
          <Button disabledBecause={mayNotEdit} onClick={() => setEditing(true)}>
            Edit
          </Button>
        )
      }
    >
      {editing && node.data && <EditNodeDialog node={node.data} onClose={() => setEditing(false)} />}
      {node.isPending && <Loading />}
      {node.isError && !node.data && (
        <Failed what="Failed to load the node" error={node.error} onRetry={() => void node.refetch()} />
      )}
      {node.data && (
        <div className="stack">
          <NodeFacts node={node.data} />
          {node.data.erasure && <ErasedDisks erasure={node.data.erasure} />}
          {node.data.inventory && <Hardware inventory={node.data.inventory} />}
          <BootList machineId={machineId} install={install} />
          <h3>History</h3>
          {history.isError && !history.data && (
            <Failed
              what="Failed to load the history"
              error={history.error}
              onRetry={() => void history.refetch()}
            />
          )}
          {history.data?.length === 0 && <p className="soft">No reports yet.</p>}
          <ol className="node-history">
            {history.data?.map((entry) => (
              <Report key={entry.id} entry={entry} />
            ))}
          </ol>
        </div>
      )}
    </Panel>
  );
}

function NodeFacts({ node }: { node: Node }) {
  const facts: readonly (readonly [string, React.ReactNode])[] = [
    ['MAC address', node.mac_address && <span className="mono">{node.mac_address}</span>],
    ['Hardware', [node.vendor, node.model].filter(Boolean).join(' ')],
    ['Serial number', node.serial_number],
    ['System UUID', node.system_uuid && <span className="mono">{node.system_uuid}</span>],
    ['Architecture', node.arch],
    ['Boot mode', node.boot_mode],
    ['Address', node.ip_address],
    ['Hostname', node.hostname],
    ['Workflow', node.workflow],
    ['Group', node.group],
    ['Attempts', `${node.install_attempts} of ${MAX_INSTALL_ATTEMPTS}`],
    ['Progress', node.install_progress === null ? '' : `${node.install_progress}%`],
    ['Tags', node.tags.join(', ')],
    ['Last seen', node.last_seen_at && <Age at={Date.parse(node.last_seen_at)} />],
    ['Notes', node.notes],
    [
      'Operation',
      node.operation_id && <Link href={operationHref(node.operation_id)}>{node.operation_id}</Link>,
    ],
  ];
  const known = facts.filter(([, value]) => value !== null && value !== '');
  return (
    <>
      {node.last_install_error && <p className="fault">{node.last_install_error}</p>}
      <dl className="facts wide-facts">
        {known.map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** The hardware inventory that the installer reported. */
function Hardware({ inventory }: { inventory: InventoryBody }) {
  return (
    <section aria-label="Hardware">
      <h3>
        Hardware{' '}
        <span className="soft">
          from the {inventory.source}, <Age at={Date.parse(inventory.reported_at)} />
        </span>
      </h3>
      <dl className="facts wide-facts">
        {hardwareLines(inventory).map(([label, text]) => (
          <div key={`${label} ${text}`} className="fact">
            <dt>{label}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The result of the erasure for each disk, and what was not done. */
function ErasedDisks({ erasure }: { erasure: Erasure }) {
  return (
    <section aria-label="Erasure">
      <h3>
        Erasure{' '}
        <span className="soft">
          {outcomeText(erasure.outcome)}, <Age at={Date.parse(erasure.at)} />
          {erasure.operation_id && (
            <>
              , by <Link href={operationHref(erasure.operation_id)}>{erasure.operation_id}</Link>
            </>
          )}
        </span>
      </h3>
      <dl className="facts wide-facts">
        {erasure.disks.map((disk) => (
          <div key={disk.name} className="fact">
            <dt>{diskTitle(disk)}</dt>
            <dd>
              <div title={ERASE_METHODS[disk.method]}>
                {disk.result}
                {disk.method !== 'none' && ` by ${disk.method}`}
              </div>
              {disk.verified && <div className="soft">read back: {disk.verified}</div>}
              {disk.not_done && <div className="fault">not done: {disk.not_done}</div>}
            </dd>
          </div>
        ))}
        {erasure.skipped.map(({ name, reason }) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd>not touched: {reason}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function diskTitle({ name, model, serial }: DiskErasure): string {
  return [name, model, serial && `serial ${serial}`].filter(Boolean).join(', ');
}

function Report({ entry }: { entry: HistoryBody }) {
  const details = historyDetails(entry);
  return (
    <li>
      <span className="soft numeric">
        <Age at={Date.parse(entry.created_at)} />
      </span>
      <span>
        <StateBadge layer="install" state={entry.to_state} />{' '}
        <span className="soft">
          {entry.from_state && entry.from_state !== entry.to_state && `from ${entry.from_state}, `}by{' '}
          {entry.triggered_by}
          {entry.user_id && ` ${entry.user_id}`}
        </span>
        {entry.comment && <div>{entry.comment}</div>}
        {details && <div className="mono soft">{details}</div>}
      </span>
    </li>
  );
}
