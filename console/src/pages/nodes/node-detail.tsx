import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { METHODS, useForbidden } from '../../identity.tsx';
import { operationHref } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age, Clock } from '../../ui/time.tsx';
import { BootList } from '../machine/boot-list.tsx';
import { EditNodeDialog } from './edit-node-dialog.tsx';
import { type HistoryBody, historyDetails, type NodeBody, nodeHistory } from './nodes.ts';

/** The details of a node, and its history of transitions and reports. */
export function NodeDetail({ node, onClose }: { node: NodeBody; onClose: () => void }) {
  const [editing, setEditing] = useState(false);
  const mayNotEdit = useForbidden()('operator', METHODS.editNodes);
  const history = useQuery({
    queryKey: ['machine', node.id, 'node-history'],
    queryFn: async () => (await nodeHistory(node.id)).data,
  });
  const facts: readonly (readonly [string, string | null])[] = [
    ['Machine id', node.id],
    ['MAC address', node.mac_address],
    ['Vendor', node.vendor],
    ['Model', node.model],
    ['Serial number', node.serial_number],
    ['Architecture', node.arch],
    ['Boot mode', node.boot_mode],
    ['Address', node.ip_address],
    ['Tags', node.tags.join(', ')],
  ];
  return (
    <Panel
      title={node.hostname || node.id}
      actions={
        <>
          <Button disabledBecause={mayNotEdit} onClick={() => setEditing(true)}>
            Edit
          </Button>
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      {editing && <EditNodeDialog node={node} onClose={() => setEditing(false)} />}
      <div className="stack">
        <dl className="facts">
          {facts
            .filter(([, value]) => value)
            .map(([name, value]) => (
              <div key={name} className="pair">
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          <dt>In state for</dt>
          <dd>
            <Age at={Date.parse(node.state_changed_at)} suffix="" />
          </dd>
          {node.operation_id && (
            <>
              <dt>Operation</dt>
              <dd>
                <Link href={operationHref(node.operation_id)}>{node.operation_id}</Link>
              </dd>
            </>
          )}
        </dl>
        <BootList machineId={node.id} install={node.state} />
        <h3>History</h3>
        {history.isPending && <Loading />}
        {history.isError && !history.data && (
          <Failed
            what="Failed to load the history"
            error={history.error}
            onRetry={() => void history.refetch()}
          />
        )}
        {history.data?.length === 0 && <Empty title="No reports yet" />}
        <ol className="stack">
          {history.data?.map((entry) => (
            <HistoryEntry key={entry.id} entry={entry} />
          ))}
        </ol>
      </div>
    </Panel>
  );
}

function HistoryEntry({ entry }: { entry: HistoryBody }) {
  const details = historyDetails(entry);
  return (
    <li>
      <div className="row">
        <StateBadge layer="install" state={entry.to_state} />
        <span className="soft">
          {entry.from_state && `from ${entry.from_state}, `}by {entry.triggered_by}
          {entry.user_id && ` ${entry.user_id}`}
        </span>
      </div>
      <div className="soft numeric">
        <Clock at={Date.parse(entry.created_at)} />
      </div>
      {entry.comment && <div>{entry.comment}</div>}
      {details && <div className="mono soft">{details}</div>}
    </li>
  );
}
