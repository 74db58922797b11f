/** Every event: each transition of each layer, with its actor and comment. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { allOf, equals } from '../../../../src/client/filter-text.ts';
import { EVENT_KINDS, isForAdmins } from '../../../../src/domain/event.ts';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fleet } from '../../api/clients.ts';
import { failureOf, isInvalid } from '../../api/failure.ts';
import { METHODS, useForbidden, useIdentity } from '../../identity.tsx';
import { useRowKeys } from '../../keyboard/use-row-keys.ts';
import { useEvents } from '../../live/live.tsx';
import { machineHref, operationHref } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { shortId } from '../../ui/copyable-id.tsx';
import { FilterBox } from '../../ui/filter-box.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Clock } from '../../ui/time.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';

const PAGE = 100;

/** What the list shows, for its export too. */
export function useEventFilter(): string {
  const [filter] = useUrlParam('filter');
  const [kind] = useUrlParam('kind');
  return allOf([filter, kind && equals('kind', kind)]);
}

export function EventLog() {
  const [filter, setFilter] = useUrlParam('filter');
  const [kind, setKind] = useUrlParam('kind');
  const [, navigate] = useLocation();
  const [news, setNews] = useState(0);
  const { scope } = useIdentity();
  const forbidden = useForbidden();
  const asked = useEventFilter();
  const log = useInfiniteQuery({
    queryKey: ['events', asked],
    queryFn: ({ pageParam }) => fleet.listEvents({ filter: asked, pageSize: PAGE, pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
    // Rows do not move while they are read; a button above the list shows the count of new events.
    refetchInterval: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  useEvents(useCallback((events) => setNews((known) => known + events.length), []));
  const events = log.data?.pages.flatMap((page) => page.events) ?? [];
  const { marked } = useRowKeys(events.length, (row) => {
    const event = events[row];
    if (event?.operationId) navigate(operationHref(event.operationId));
    else if (event?.machineId) navigate(machineHref(event.machineId));
  });
  const kinds = [
    '',
    ...EVENT_KINDS.filter(
      (known) => !isForAdmins(known) || (scope === '' && forbidden('admin', METHODS.readTokens) === ''),
    ),
  ];
  const refresh = () => {
    setNews(0);
    void log.refetch();
  };
  return (
    <>
      <FilterBox
        label="Filter events"
        value={filter}
        onApply={setFilter}
        placeholder='machine_id = "machine-1" AND actor_kind = operator'
        fault={log.isError && isInvalid(log.error) ? failureOf(log.error).message : ''}
      />
      <div className="row kinds" role="toolbar" aria-label="Event kinds">
        {kinds.map((value) => (
          <Button key={value} kind="quiet" pressed={kind === value} onClick={() => setKind(value)}>
            {value || 'all'}
          </Button>
        ))}
        {news > 0 && (
          <Button onClick={refresh}>
            {news} new {news === 1 ? 'event' : 'events'} in the fleet. Refresh
          </Button>
        )}
      </div>
      <Panel title="Events, newest first" padding="none">
        {log.isPending && <Loading lines={8} />}
        {log.isError && !isInvalid(log.error) && (
          <Failed what="Failed to load events" error={log.error} onRetry={() => void log.refetch()} />
        )}
        {log.isSuccess && events.length === 0 && (
          <Empty title={asked === '' ? 'No events yet' : 'No results'}>
            {asked !== '' && 'Clear the filter to see all events.'}
          </Empty>
        )}
        {events.length > 0 && <Events events={events} marked={marked} />}
        <LoadMore list={log}>{events.length} shown</LoadMore>
      </Panel>
    </>
  );
}

function Events({ events, marked }: { events: readonly Event[]; marked: number }) {
  return (
    <table className="table fixed">
      <thead>
        <tr>
          <th className="wide">Time</th>
          <th className="narrow">Kind</th>
          <th className="wide">Change</th>
          <th className="wide">Machine, operation</th>
          <th className="narrow">Actor</th>
          <th>Comment</th>
        </tr>
      </thead>
      <tbody>
        {events.map((event, index) => (
          <tr key={event.eventId.toString()} aria-selected={index === marked}>
            <td>
              <Clock at={event.at} />
            </td>
            <td>
              {event.kind}
              {event.subject && event.subject !== event.machineId && (
                <span className="soft clipped" title={event.subject}>
                  {event.subject}
                </span>
              )}
            </td>
            <td className="wraps">
              {event.from || '–'} → <strong>{event.to || '–'}</strong>
            </td>
            <td className="mono">
              {event.machineId && (
                <Link className="clipped" href={machineHref(event.machineId)}>
                  {event.machineId}
                </Link>
              )}
              {event.operationId && (
                <Link className="clipped" href={operationHref(event.operationId)} title={event.operationId}>
                  {shortId(event.operationId)}
                </Link>
              )}
            </td>
            <td>
              {event.actorKind}
              <span className="soft clipped" title={event.actorId}>
                {event.actorId}
              </span>
              {event.address && (
                <span className="soft clipped" title={`${event.via} ${event.requestId}`.trim()}>
                  {event.address}
                </span>
              )}
            </td>
            <td className="wraps">
              {event.comment}
              {event.changes.map(({ field, before, after }) => (
                <div key={field} className="soft">
                  {field}: {before || '–'} → {after || '–'}
                </div>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
