/** All rollouts, newest first. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { toneOf } from '../../../../src/domain/tone.ts';
import type { Rollout } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { rollouts } from '../../api/clients.ts';
import { failureOf, isInvalid } from '../../api/failure.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import { useRowKeys } from '../../keyboard/use-row-keys.ts';
import { rolloutHref } from '../../pages.ts';
import {
  countOf,
  finishedOf,
  rolloutState,
  stateText,
  titleOf,
  UNDER_WAY,
  verbOf,
} from '../../rollout-view.ts';
import '../../styles/rollout.css';
import '../../styles/rollouts.css';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { FilterBox } from '../../ui/filter-box.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age, Duration } from '../../ui/time.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { CountsBar } from '../rollout/counts-bar.tsx';
import { headlineOf } from '../rollout/headline.ts';

const RolloutDrawer = lazy(() =>
  import('../rollout-draft/rollout-drawer.tsx').then((m) => ({ default: m.RolloutDrawer })),
);

const QUICK = {
  'Under way': UNDER_WAY,
  Stopped: 'state=STOPPED',
  Failed: 'state=FAILED',
} as const;

export function RolloutsPage() {
  const [filter, setFilter] = useUrlParam('filter');
  const [, navigate] = useLocation();
  const [isNew, setNew] = useState(false);
  const disabledBecause = useForbidden()('operator', METHODS.createRollout);
  const list = useInfiniteQuery({
    queryKey: ['fleet-wide', 'rollouts', filter],
    queryFn: ({ pageParam }) => rollouts.listRollouts({ filter, pageSize: 50, pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
  });
  const rows = list.data?.pages.flatMap((page) => page.rollouts) ?? [];
  const { marked } = useRowKeys(rows.length, (row) => {
    const rollout = rows[row];
    if (rollout) navigate(rolloutHref(rollout.rolloutId));
  });
  useOfferActions([{ text: 'New rollout', disabledBecause, run: () => setNew(true) }]);
  const isRefused = list.isError && isInvalid(list.error);
  return (
    <>
      <PageTitle
        title="Rollouts"
        actions={
          <Button kind="primary" disabledBecause={disabledBecause} onClick={() => setNew(true)}>
            New rollout
          </Button>
        }
      />
      <FilterBox
        label="Filter rollouts"
        value={filter}
        onApply={setFilter}
        placeholder='state=RUNNING AND created_by:alice AND name="ubuntu*"'
        fault={isRefused ? failureOf(list.error).message : ''}
      />
      <div className="row kinds" role="toolbar" aria-label="Quick filters">
        <Button kind="quiet" pressed={filter === ''} onClick={() => setFilter('')}>
          All
        </Button>
        {Object.entries(QUICK).map(([title, terms]) => (
          <Button key={title} kind="quiet" pressed={filter === terms} onClick={() => setFilter(terms)}>
            {title}
          </Button>
        ))}
      </div>
      <Panel title="Rollouts, newest first" padding="none">
        {list.isPending && <Loading lines={6} />}
        {list.isError && !isRefused && (
          <Failed what="Failed to load rollouts" error={list.error} onRetry={() => void list.refetch()} />
        )}
        {isRefused && <Empty title="Invalid filter">Fix the filter above.</Empty>}
        {list.isSuccess && rows.length === 0 && (
          <NoRollouts
            isFiltered={filter !== ''}
            disabledBecause={disabledBecause}
            onNew={() => setNew(true)}
          />
        )}
        {rows.length > 0 && <RolloutTable rows={rows} marked={marked} />}
        <LoadMore list={list} />
      </Panel>
      {isNew && (
        <Suspense fallback={null}>
          <RolloutDrawer
            targets={[{ kind: 'filter', filter: '', follow: false }]}
            verbs={['reboot']}
            onClose={() => setNew(false)}
          />
        </Suspense>
      )}
    </>
  );
}

interface NoRolloutsProps {
  readonly isFiltered: boolean;
  readonly disabledBecause: string;
  readonly onNew: () => void;
}

function NoRollouts({ isFiltered, disabledBecause, onNew }: NoRolloutsProps) {
  if (isFiltered) return <Empty title="No results">Change the filter, or choose All.</Empty>;
  return (
    <Empty title="No rollouts yet">
      <span>A rollout changes many machines in waves, within limits, and stops when they fail.</span>
      <Button disabledBecause={disabledBecause} onClick={onNew}>
        Start the first one
      </Button>
    </Empty>
  );
}

function RolloutTable({ rows, marked }: { rows: readonly Rollout[]; marked: number }) {
  return (
    <table className="table ro-list">
      <thead>
        <tr>
          <th>Rollout</th>
          <th>State</th>
          <th className="ro-list-progress">Machines</th>
          <th>Created</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((rollout, index) => (
          <RolloutRow key={rollout.rolloutId} rollout={rollout} isMarked={index === marked} />
        ))}
      </tbody>
    </table>
  );
}

function RolloutRow({ rollout, isMarked }: { rollout: Rollout; isMarked: boolean }) {
  const { rolloutId, spec, machines, createdBy, createdAt, startedAt, finishedAt } = rollout;
  const state = rolloutState(rollout);
  const failed = countOf(machines, 'failed');
  return (
    <tr aria-selected={isMarked}>
      <td>
        <Link href={rolloutHref(rolloutId)}>
          <strong>{titleOf(rollout)}</strong>
        </Link>
        <div className="soft wraps">{spec?.steps.map(verbOf).join(' → ')}</div>
      </td>
      <td>
        <span className={`badge tone-${toneOf('rollout', state)}`}>{stateText(state)}</span>
        <div className="soft wraps">{headlineOf(rollout).text}</div>
      </td>
      <td className="ro-list-progress">
        <CountsBar counts={machines} />
        <div className="soft numeric">
          {finishedOf(machines).toLocaleString('en')} of {(machines?.total ?? 0).toLocaleString('en')}
          {failed > 0 && <span className="fault">{` · ${failed.toLocaleString('en')} failed`}</span>}
        </div>
      </td>
      <td>
        <Age at={createdAt} />
        <div className="soft wraps">
          {createdBy}
          {startedAt && (
            <>
              , {finishedAt ? 'took' : 'runs for'} <Duration from={startedAt} to={finishedAt} />
            </>
          )}
        </div>
      </td>
    </tr>
  );
}
