/** Machines that boot from the network: approvals, installations and reports. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { installLifecycle } from '../../../../src/domain/install/install-state.ts';
import { statesOf } from '../../../../src/domain/lifecycle/lifecycle.ts';
import { useRowKeys } from '../../keyboard/use-row-keys.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { FilterBox } from '../../ui/filter-box.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { ApproveDialog } from './approve-dialog.tsx';
import { BulkBar } from './bulk-bar.tsx';
import { type BulkChange, NodesDialog } from './bulk-dialog.tsx';
import { NodeDetail } from './node-detail.tsx';
import { NodeTable } from './node-table.tsx';
import { listNodes, listStalled, type NodeBody } from './nodes.ts';

const PAGE = 100;
/** Shown among the states, but not one of them: installing, and not seen for too long. */
const STALLED = 'stalled';

export function NodesPage() {
  const [state, setState] = useUrlParam('state');
  const [text, setText] = useUrlParam('q');
  const [shown, setShown] = useUrlParam('node');
  const [approving, setApproving] = useState<NodeBody | null>(null);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [change, setChange] = useState<BulkChange | null>(null);
  const list = useInfiniteQuery({
    queryKey: ['fleet-wide', 'nodes', state, text],
    queryFn: ({ pageParam }) => {
      const page = { limit: String(PAGE), offset: String(pageParam * PAGE) };
      return state === STALLED ? listStalled(page) : listNodes({ state, q: text, ...page });
    },
    initialPageParam: 0,
    getNextPageParam: ({ total }, pages) => (pages.length * PAGE < total ? pages.length : null),
  });
  /** Another list clears the selection: no action on nodes that are not shown. */
  const show = (set: (value: string) => void, value: string) => {
    setSelected(new Set());
    set(value);
  };
  const isFiltered = state !== '' || text !== '';
  const nodes = list.data?.pages.flatMap(({ data }) => data) ?? [];
  const chosen = nodes.find(({ id }) => id === shown);
  const { marked, mark } = useRowKeys(nodes.length, (row) => setShown(nodes[row]?.id ?? ''));
  return (
    <>
      <PageTitle title="Nodes" />
      <FilterBox
        label="Search nodes"
        value={text}
        onApply={(value) => show(setText, value)}
        placeholder="Search by id, hostname, address or serial number"
      />
      <div className="row kinds" role="toolbar" aria-label="Install states">
        {['', ...statesOf(installLifecycle), STALLED].map((value) => (
          <Button key={value} kind="quiet" pressed={state === value} onClick={() => show(setState, value)}>
            {value === 'discovered' ? 'waiting for approval' : value || 'all'}
          </Button>
        ))}
      </div>
      <div className={chosen ? 'beside' : undefined}>
        <Panel title="Nodes" padding="none">
          {list.isPending && <Loading lines={6} />}
          {list.isError && !list.data && (
            <Failed what="Failed to load nodes" error={list.error} onRetry={() => void list.refetch()} />
          )}
          {list.isSuccess && nodes.length === 0 && (
            <Empty title={isFiltered ? 'No results' : 'No nodes yet'}>
              {isFiltered
                ? 'Clear the search, or choose another state.'
                : 'A machine appears here after its first boot from the network. See docs/netboot.md.'}
            </Empty>
          )}
          {nodes.length > 0 && (
            <BulkBar count={selected.size} onClear={() => setSelected(new Set())} onChange={setChange} />
          )}
          {nodes.length > 0 && (
            <NodeTable
              nodes={nodes}
              selected={selected}
              onSelect={(ids, choice) => setSelected(withChoice(selected, ids, choice))}
              marked={marked}
              shown={shown}
              onShow={(node, row) => {
                mark(row);
                setShown(node.id === shown ? '' : node.id);
              }}
              onApprove={setApproving}
            />
          )}
          <LoadMore list={list}>
            {nodes.length} of {list.data?.pages[0]?.total}
          </LoadMore>
        </Panel>
        {chosen && <NodeDetail node={chosen} onClose={() => setShown('')} />}
      </div>
      {change && (
        <NodesDialog
          change={change}
          ids={[...selected]}
          onClose={() => setChange(null)}
          onDone={() => setSelected(new Set())}
        />
      )}
      {approving && <ApproveDialog node={approving} onClose={() => setApproving(null)} />}
    </>
  );
}

function withChoice(
  before: ReadonlySet<string>,
  ids: readonly string[],
  choice: 'select' | 'clear',
): ReadonlySet<string> {
  if (choice === 'select') return new Set([...before, ...ids]);
  return new Set([...before].filter((id) => !ids.includes(id)));
}
