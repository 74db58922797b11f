/** The events of this operation and its steps, with actor and comment. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { type ToneLayer, toneOf } from '../../../../src/domain/tone.ts';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fleet } from '../../api/clients.ts';
import { listOf, quoted } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { IdText } from '../../ui/id-text.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Clock } from '../../ui/time.tsx';

const PAGE = 50;

/** Without progress updates: the steps show them. */
function filterFor(operationId: string): string {
  return `operation_id = ${quoted(operationId)} AND kind != progress`;
}

export function HistoryPanel({ operationId }: { operationId: string }) {
  const filter = filterFor(operationId);
  const history = useInfiniteQuery({
    queryKey: ['operation', operationId, 'history'],
    queryFn: ({ pageParam }) => fleet.listEvents({ filter, pageSize: PAGE, pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
  });
  const events = history.data?.pages.flatMap((page) => page.events) ?? [];
  return (
    <Panel
      title="History, newest first"
      padding="none"
      actions={
        <Link href={listOf('/audit', `operation_id = ${quoted(operationId)}`)}>View in audit log</Link>
      }
    >
      {history.isPending && <Loading lines={4} />}
      {history.isError && !history.data && (
        <Failed
          what="Failed to load the history"
          error={history.error}
          onRetry={() => void history.refetch()}
        />
      )}
      {history.isSuccess && events.length === 0 && <Empty title="No events yet" />}
      {events.length > 0 && <Events events={events} />}
      <LoadMore list={history} />
    </Panel>
  );
}

const LAYERS: Readonly<Record<string, ToneLayer>> = {
  operation: 'status',
  step: 'step',
  phase: 'phase',
  service: 'service',
  install: 'install',
  presence: 'presence',
};

function Events({ events }: { events: readonly Event[] }) {
  return (
    <table className="table history">
      <thead>
        <tr>
          <th className="history-when">Time</th>
          <th>Kind</th>
          <th>Change</th>
          <th>Actor</th>
          <th className="history-why">Comment</th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <tr key={event.eventId.toString()}>
            <td>
              <Clock at={event.at} />
            </td>
            <td>
              {event.kind} <span className="soft">{event.subject}</span>
            </td>
            <td>
              <span className="soft">{event.from || 'new'} →</span> <To event={event} />
            </td>
            <td className="history-who" title={`${event.actorKind} ${event.actorId}`}>
              {event.actorKind} <span className="soft">{event.actorId}</span>
            </td>
            <td className="history-why">
              <IdText>{event.comment}</IdText>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function To({ event: { kind, to } }: { event: Event }) {
  const layer = LAYERS[kind];
  if (!layer) return <strong>{to || '–'}</strong>;
  return <span className={`badge tone-${toneOf(layer, to)}`}>{to || '–'}</span>;
}
