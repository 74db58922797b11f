/** Everything that happened to this operation: each change of it and of its steps, by whom and why. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { type ToneLayer, toneOf } from '../../../../src/domain/tone.ts';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fleet } from '../../api/clients.ts';
import { listOf, quoted } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { Panel } from '../../ui/panel.tsx';
import { momentText, msOf } from '../../ui/time.tsx';

const PAGE = 50;

/** Percentages are on the steps already. */
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
      actions={<Link href={listOf('/audit', `operation_id = ${quoted(operationId)}`)}>in the audit log</Link>}
    >
      {history.isPending && <Loading lines={4} />}
      {history.isError && (
        <Failed
          what="The history can’t be read"
          error={history.error}
          onRetry={() => void history.refetch()}
        />
      )}
      {history.isSuccess && events.length === 0 && <Empty title="Nothing has happened yet" />}
      {events.length > 0 && <Events events={events} />}
      {history.hasNextPage && (
        <div className="list-foot">
          <Button
            onClick={() => void history.fetchNextPage()}
            disabledBecause={history.isFetchingNextPage ? 'They are on their way.' : ''}
          >
            Show older
          </Button>
        </div>
      )}
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
          <th className="history-when">When</th>
          <th>What</th>
          <th>Change</th>
          <th>Who</th>
          <th className="history-why">Why</th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <tr key={event.eventId.toString()}>
            <td className="numeric">{momentText(msOf(event.at) ?? 0)}</td>
            <td>
              {event.kind} <span className="soft">{event.subject}</span>
            </td>
            <td>
              <span className="soft">{event.from || 'new'} →</span> <To event={event} />
            </td>
            <td className="history-who" title={`${event.actorKind} ${event.actorId}`}>
              {event.actorKind} <span className="soft">{event.actorId}</span>
            </td>
            <td className="history-why">{event.comment}</td>
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
