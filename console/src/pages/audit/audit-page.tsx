/** The event log: every transition of every layer, who made it and why. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { EVENT_KINDS } from '../../../../src/domain/event.ts';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fleet } from '../../api/clients.ts';
import { failureOf, isInvalid } from '../../api/failure.ts';
import { useForbidden } from '../../identity.tsx';
import { useRowKeys } from '../../keyboard/use-row-keys.ts';
import { useEvents } from '../../live/live.tsx';
import { machineHref, operationHref } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { FilterBox } from '../../ui/filter-box.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { momentText, msOf } from '../../ui/time.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { EXPORT_FORMATS, type ExportFormat, exportEvents } from './export-events.ts';
import { withKind } from './with-kind.ts';

const PAGE = 100;

export function AuditPage() {
  const [filter, setFilter] = useUrlParam('filter');
  const [kind, setKind] = useUrlParam('kind');
  const [, navigate] = useLocation();
  const [news, setNews] = useState(0);
  const forbidden = useForbidden();
  const asked = withKind(filter, kind);
  const log = useInfiniteQuery({
    queryKey: ['events', asked],
    queryFn: ({ pageParam }) => fleet.listEvents({ filter: asked, pageSize: PAGE, pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
    // What is on the page stays where it is; the line above says that there is more.
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
  // Who has which token is for admins only.
  const kinds = ['', ...EVENT_KINDS.filter((known) => known !== 'token' || forbidden('admin') === '')];
  const refresh = () => {
    setNews(0);
    void log.refetch();
  };
  return (
    <>
      <PageTitle title="Audit" actions={<Export filter={asked} />} />
      <FilterBox
        label="Filter events"
        value={filter}
        onApply={setFilter}
        placeholder='machine_id = "machine-1" AND actor_kind = operator'
        fault={log.isError && isInvalid(log.error) ? failureOf(log.error).message : ''}
      />
      <div className="row kinds" role="toolbar" aria-label="Kinds of events">
        {kinds.map((value) => (
          <Button key={value} kind="quiet" pressed={kind === value} onClick={() => setKind(value)}>
            {value || 'all'}
          </Button>
        ))}
        {news > 0 && (
          <Button onClick={refresh}>
            {news} more {news === 1 ? 'event' : 'events'} in the fleet since; show the newest
          </Button>
        )}
      </div>
      <Panel title="Events, newest first" padding="none">
        {log.isPending && <Loading lines={8} />}
        {log.isError && !isInvalid(log.error) && (
          <Failed what="The event log can’t be read" error={log.error} onRetry={() => void log.refetch()} />
        )}
        {log.isSuccess && events.length === 0 && (
          <Empty title="Nothing matches">
            {asked === '' ? 'Nothing has happened yet.' : 'Clear the filter to see everything.'}
          </Empty>
        )}
        {events.length > 0 && <Events events={events} marked={marked} />}
        <LoadMore list={log} text="Show older events">
          {events.length} shown
        </LoadMore>
      </Panel>
    </>
  );
}

function Events({ events, marked }: { events: readonly Event[]; marked: number }) {
  return (
    <table className="table fixed">
      <thead>
        <tr>
          <th className="wide">When</th>
          <th className="narrow">What</th>
          <th className="wide">Change</th>
          <th className="wide">Machine, operation</th>
          <th className="narrow">Who</th>
          <th>Why</th>
        </tr>
      </thead>
      <tbody>
        {events.map((event, index) => (
          <tr key={event.eventId.toString()} aria-selected={index === marked}>
            <td className="numeric">{momentText(msOf(event.at) ?? 0)}</td>
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
                <Link className="clipped" href={operationHref(event.operationId)}>
                  {event.operationId}
                </Link>
              )}
            </td>
            <td>
              {event.actorKind}
              <span className="soft clipped" title={event.actorId}>
                {event.actorId}
              </span>
            </td>
            <td className="wraps">{event.comment}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Export({ filter }: { filter: string }) {
  const { tell, tellFailure } = useToasts();
  const [running, setRunning] = useState(false);
  const run = async (format: ExportFormat) => {
    setRunning(true);
    try {
      tell(`${await exportEvents(filter, format)} events exported`);
    } catch (error) {
      tellFailure('The events could not be exported', error);
    } finally {
      setRunning(false);
    }
  };
  return Object.entries(EXPORT_FORMATS).map(([format, { text }]) => (
    <Button
      key={format}
      onClick={() => void run(format as ExportFormat)}
      disabledBecause={running ? 'An export is under way.' : ''}
    >
      {text}
    </Button>
  ));
}
