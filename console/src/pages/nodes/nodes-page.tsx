/** Machines that boot from the network: who waits for approval, what is being installed, and what they reported. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { installLifecycle } from '../../../../src/domain/install-state.ts';
import { statesOf } from '../../../../src/domain/lifecycle.ts';
import { useForbidden } from '../../identity.tsx';
import { useRowKeys } from '../../keyboard/use-row-keys.ts';
import { machineHref } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { FilterBox } from '../../ui/filter-box.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age } from '../../ui/time.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { ApproveDialog } from './approve-dialog.tsx';
import { NodeDetail } from './node-detail.tsx';
import { listNodes, type NodeBody } from './nodes.ts';

const PAGE = 100;

export function NodesPage() {
  const [state, setState] = useUrlParam('state');
  const [text, setText] = useUrlParam('q');
  const [shown, setShown] = useUrlParam('node');
  const [approved, setApproved] = useState<NodeBody | null>(null);
  const list = useInfiniteQuery({
    queryKey: ['sums', 'nodes', state, text],
    queryFn: ({ pageParam }) =>
      listNodes({ state, q: text, limit: String(PAGE), offset: String(pageParam * PAGE) }),
    initialPageParam: 0,
    getNextPageParam: ({ total }, pages) => (pages.length * PAGE < total ? pages.length : null),
  });
  const nodes = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const chosen = nodes.find(({ id }) => id === shown);
  const { marked, mark } = useRowKeys(nodes.length, (row) => setShown(nodes[row]?.id ?? ''));
  return (
    <>
      <PageTitle title="Nodes" />
      <FilterBox
        label="Find nodes"
        value={text}
        onApply={setText}
        placeholder="An id, a name, an address or a serial number contains…"
      />
      <div className="row kinds" role="toolbar" aria-label="Install states">
        {['', ...statesOf(installLifecycle)].map((value) => (
          <Button key={value} kind="quiet" pressed={state === value} onClick={() => setState(value)}>
            {value === 'discovered' ? 'waiting for approval' : value || 'all'}
          </Button>
        ))}
      </div>
      <div className={chosen ? 'beside' : undefined}>
        <Panel title="Nodes" padding="none">
          {list.isPending && <Loading lines={6} />}
          {list.isError && (
            <Failed what="Nodes can’t be listed" error={list.error} onRetry={() => void list.refetch()} />
          )}
          {list.isSuccess && nodes.length === 0 && (
            <Empty
              title={
                state === '' && text === '' ? 'No machine has booted from the network yet' : 'Nothing matches'
              }
            >
              A machine shows up here when it boots from the network for the first time; docs/netboot.md says
              how.
            </Empty>
          )}
          {nodes.length > 0 && (
            <NodeTable
              nodes={nodes}
              marked={marked}
              shown={shown}
              onShow={(node, row) => {
                mark(row);
                setShown(node.id === shown ? '' : node.id);
              }}
              onApprove={setApproved}
            />
          )}
          <LoadMore list={list} text="Show more">
            {nodes.length} of {list.data?.pages[0]?.total}
          </LoadMore>
        </Panel>
        {chosen && <NodeDetail node={chosen} onClose={() => setShown('')} />}
      </div>
      {approved && <ApproveDialog node={approved} onClose={() => setApproved(null)} />}
    </>
  );
}

interface NodeTableProps {
  readonly nodes: readonly NodeBody[];
  readonly marked: number;
  readonly shown: string;
  readonly onShow: (node: NodeBody, row: number) => void;
  readonly onApprove: (node: NodeBody) => void;
}

function NodeTable({ nodes, marked, shown, onShow, onApprove }: NodeTableProps) {
  const forbidden = useForbidden();
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Node</th>
          <th>Hardware</th>
          <th>State</th>
          <th>Workflow</th>
          <th className="number">Attempts</th>
          <th>Last seen</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {nodes.map((node, row) => (
          <tr key={node.id} aria-selected={row === marked || node.id === shown}>
            <td>
              <Link className="mono" href={machineHref(node.id)}>
                {node.id}
              </Link>
              <div className="soft mono">{node.mac_address}</div>
            </td>
            <td>
              {[node.vendor, node.model].filter(Boolean).join(' ') || <span className="soft">–</span>}
              <div className="soft">{[node.hostname, node.ip_address].filter(Boolean).join(' · ')}</div>
            </td>
            <td>
              <StateBadge
                layer="install"
                state={node.state}
                title={installLifecycle.states[node.state as keyof typeof installLifecycle.states]?.meaning}
              />
              <Progress node={node} />
            </td>
            <td>{node.workflow ?? <span className="soft">–</span>}</td>
            <td className="number">{node.install_attempts}</td>
            <td>
              <Age at={node.last_seen_at === null ? undefined : Date.parse(node.last_seen_at)} />
            </td>
            <td>
              <div className="row">
                {(node.state === 'discovered' || node.state === 'install_failed') && (
                  <Button
                    kind="primary"
                    disabledBecause={forbidden('operator')}
                    label={`${node.state === 'discovered' ? 'Approve' : 'Reset'} ${node.id}`}
                    onClick={() => onApprove(node)}
                  >
                    {node.state === 'discovered' ? 'Approve' : 'Reset'}
                  </Button>
                )}
                <Button
                  kind="quiet"
                  pressed={node.id === shown}
                  label={`History of ${node.id}`}
                  onClick={() => onShow(node, row)}
                >
                  History
                </Button>
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Progress({ node }: { node: NodeBody }) {
  if (node.state === 'install_failed') return <div className="fault clipped">{node.last_install_error}</div>;
  if (node.state !== 'installing' || node.install_progress === null) return null;
  return (
    <div
      className="progress tone-blue"
      role="progressbar"
      aria-label={`Installation of ${node.id}`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={node.install_progress}
    >
      <div style={{ width: `${node.install_progress}%` }} />
    </div>
  );
}
