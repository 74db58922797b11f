/** The history of all layers as one list, newest first. New events are added at the top. */
import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { Link, useLocation } from 'wouter';
import { conditionTone } from '../../../../src/domain/condition/condition-tone.ts';
import type { EventKind } from '../../../../src/domain/event.ts';
import type { Event, ListEventsResponse } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fleet } from '../../api/clients.ts';
import { useRowKeys } from '../../keyboard/use-row-keys.ts';
import { useEvents } from '../../live/live.tsx';
import { operationHref, quoted } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { shortId } from '../../ui/copyable-id.tsx';
import { IdText } from '../../ui/id-text.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { Age } from '../../ui/time.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import {
  HISTORY_KINDS,
  historyFilter,
  KIND_LAYERS,
  newEventsFor,
  readKinds,
  toggleKind,
  writeKinds,
} from './history.ts';

const PAGE = 50;
type Pages = InfiniteData<ListEventsResponse, string>;

export function HistoryPanel({ machineId }: { machineId: string }) {
  const [kindsText, setKindsText] = useUrlParam('kinds');
  const [, navigate] = useLocation();
  const kinds = useMemo(() => readKinds(kindsText), [kindsText]);
  const list = useHistory(machineId, kinds);
  const events = list.data?.pages.flatMap((page) => page.events) ?? [];
  const { marked } = useRowKeys(
    events.length,
    (row) => {
      const operationId = events[row]?.operationId ?? '';
      if (operationId !== '') navigate(operationHref(operationId));
    },
    (row) => document.querySelector(`[data-row="${row}"]`)?.scrollIntoView({ block: 'nearest' }),
  );
  return (
    <>
      <div className="row kinds" role="toolbar" aria-label="Event kinds">
        <Button kind="quiet" pressed={writeKinds(kinds) === ''} onClick={() => setKindsText('')}>
          default
        </Button>
        {HISTORY_KINDS.map((kind) => (
          <Button
            key={kind}
            kind="quiet"
            pressed={writeKinds(kinds) !== '' && kinds.includes(kind)}
            onClick={() => setKindsText(writeKinds(toggleKind(kinds, kind)))}
          >
            {kind}
          </Button>
        ))}
      </div>
      {list.isPending && <Loading lines={6} />}
      {list.isError && !list.data && (
        <Failed what="Failed to load the history" error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.data && events.length === 0 && (
        <Empty title="No events of these kinds">Select other kinds above.</Empty>
      )}
      {events.length > 0 && (
        <table className="table timeline">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Kind</th>
              <th scope="col">Change</th>
              <th scope="col">Actor</th>
              <th scope="col">Comment</th>
              <th scope="col">Operation</th>
            </tr>
          </thead>
          <tbody>
            {events.map((event, row) => (
              <HistoryRow key={event.eventId} event={event} row={row} isMarked={row === marked} />
            ))}
          </tbody>
        </table>
      )}
      <LoadMore list={list} />
    </>
  );
}

function useHistory(machineId: string, kinds: readonly EventKind[]) {
  const queries = useQueryClient();
  const filter = historyFilter(quoted(machineId), kinds);
  const queryKey = useMemo(() => ['history', machineId, filter], [machineId, filter]);
  const onEvents = useCallback(
    (received: readonly Event[]) => {
      queries.setQueryData<Pages>(queryKey, (shown) => {
        const [first, ...others] = shown?.pages ?? [];
        if (!shown || !first) return shown;
        const fresh = newEventsFor(received, machineId, kinds, first.events[0]?.eventId ?? 0n);
        return fresh.length === 0
          ? shown
          : { ...shown, pages: [{ ...first, events: [...fresh, ...first.events] }, ...others] };
      });
    },
    [queries, queryKey, machineId, kinds],
  );
  useEvents(onEvents);
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => fleet.listEvents({ filter, pageSize: PAGE, pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
  });
}

function HistoryRow({ event, row, isMarked }: { event: Event; row: number; isMarked: boolean }) {
  const { kind, subject, from, to, actorKind, actorId, comment, operationId, machineId } = event;
  return (
    <tr data-row={row} aria-selected={isMarked}>
      <td>
        <Age at={event.at} />
      </td>
      <td>{kind}</td>
      <td>
        <span className="row">
          {subject !== '' && subject !== machineId && subject !== operationId && <span>{subject}</span>}
          {from !== '' && (
            <>
              <span className="soft">{from}</span> <span aria-hidden="true">→</span>
              <span className="visually-hidden">to</span>
            </>
          )}
          <State kind={kind} subject={subject} state={to} />
        </span>
      </td>
      <td>
        <span className="soft">{actorKind}</span> {actorId !== actorKind && actorId}
      </td>
      <td className="comment">
        <IdText>{comment}</IdText>
      </td>
      <td>
        {operationId !== '' && (
          <Link className="operation-link mono" href={operationHref(operationId)} title={operationId}>
            {shortId(operationId)}
          </Link>
        )}
      </td>
    </tr>
  );
}

function State({ kind, subject, state }: { kind: string; subject: string; state: string }) {
  const layer = KIND_LAYERS[kind];
  if (layer) return <StateBadge layer={layer} state={state} />;
  if (kind === 'condition')
    return <span className={`badge tone-${conditionTone(subject, state === 'true')}`}>{state}</span>;
  return <span>{state}</span>;
}
