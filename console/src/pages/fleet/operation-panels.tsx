import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { operations } from '../../api/clients.ts';
import { type OperationView, operationView } from '../../operation-view.ts';
import { operationWords } from '../../operation-words.ts';
import { listOf, machineHref, operationHref, quoted } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age, Duration, msOf } from '../../ui/time.tsx';
import { numberText } from './counts.ts';

const SHOWN = 6;
const IN_PROGRESS = 'phase = PENDING OR phase = RUNNING';
const FAILED = 'phase = FAILED';
const DAY_MS = 86_400_000;
const ENDED = { FAILED: 'failed', CANCELED: 'canceled', SUCCEEDED: 'succeeded' } as const;

export function InProgressPanel({ overview }: { overview: Overview }) {
  const byType = Object.entries(overview.operationsUnderWay).filter(([, count]) => count > 0);
  const total = byType.reduce((sum, [, count]) => sum + count, 0);
  const list = useOperations(IN_PROGRESS);
  return (
    <Panel
      title="Operations in progress"
      padding="none"
      actions={<Link href={listOf('/operations', IN_PROGRESS)}>View all {numberText(total)}</Link>}
    >
      {byType.length > 0 && (
        <p className="by-type">
          {byType.map(([type, count]) => (
            <Link key={type} href={listOf('/operations', `(${IN_PROGRESS}) AND type = ${type}`)}>
              {numberText(count)} {type}
            </Link>
          ))}
        </p>
      )}
      <Operations list={list} empty="No operations in progress" timeTitle="Duration" />
    </Panel>
  );
}

export function FailedPanel({ overview }: { overview: Overview }) {
  const { operationsEnded: ended } = overview;
  // Rounded to the minute, so that the query key does not change every second.
  const minute = Math.floor(((msOf(overview.at) ?? 0) - DAY_MS) / 60_000) * 60_000;
  const since = quoted(new Date(minute).toISOString());
  const list = useOperations(`${FAILED} AND finished_at > ${since}`);
  return (
    <Panel
      title="Recent failures"
      padding="none"
      actions={<Link href={listOf('/operations', FAILED)}>View all failed</Link>}
    >
      <p className="by-type soft">
        <span>In the last 24 hours</span>
        {Object.entries(ENDED).map(([phase, word]) => (
          <Link key={phase} href={listOf('/operations', `phase = ${phase} AND finished_at > ${since}`)}>
            {numberText(ended[phase] ?? 0)} {word}
          </Link>
        ))}
      </p>
      <Operations list={list} empty="No failures in the last 24 hours" timeTitle="Finished" />
    </Panel>
  );
}

function useOperations(filter: string) {
  return useQuery({
    queryKey: ['fleet-wide', 'fleet-operations', filter],
    queryFn: async () =>
      (await operations.listOperations({ filter, pageSize: SHOWN })).operations.map(operationView),
  });
}

interface OperationsProps {
  readonly list: ReturnType<typeof useOperations>;
  readonly empty: string;
  /** The heading of the last column. */
  readonly timeTitle: string;
}

function Operations({ list, empty, timeTitle }: OperationsProps) {
  if (list.isPending) return <Loading />;
  if (list.isError && !list.data)
    return <Failed what="Failed to load operations" error={list.error} onRetry={() => void list.refetch()} />;
  if (list.data.length === 0) return <Empty title={empty} />;
  return (
    <table className="table fixed">
      <thead>
        <tr>
          <th>Operation</th>
          <th className="wide">Machine</th>
          <th className="narrow">State</th>
          <th className="narrow">{timeTitle}</th>
        </tr>
      </thead>
      <tbody>
        {list.data.map((operation) => (
          <OperationRow key={operation.operationId} operation={operation} />
        ))}
      </tbody>
    </table>
  );
}

function OperationRow({
  operation: { operationId, machineId, type, phase, isActive, message },
}: {
  operation: OperationView;
}) {
  return (
    <tr>
      <td>
        <Link href={operationHref(operationId)}>{operationWords(type)}</Link>
        <div className="soft clipped">
          {isActive
            ? `${message.progressPercent}% · ${message.currentStep || message.waitingFor}`
            : message.error?.message}
        </div>
      </td>
      <td>
        <Link className="mono clipped" href={machineHref(machineId)}>
          {machineId}
        </Link>
      </td>
      <td>
        <StateBadge layer="operation_phase" state={phase} />
      </td>
      <td>
        {isActive ? (
          <Duration from={message.createdAt} to={message.finishedAt} />
        ) : (
          <Age at={message.finishedAt} />
        )}
      </td>
    </tr>
  );
}
