/** What failed in the last day: the same failure of many machines is one row, and one button tries all of them again. */
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { operations } from '../../api/clients.ts';
import { countText } from '../../count-text.ts';
import { operationView } from '../../operation-view.ts';
import { operationWords } from '../../operation-words.ts';
import { listOf, machineHref, operationHref, quoted } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age, msOf } from '../../ui/time.tsx';
import { RetryAll, stillFailed } from '../operation/retry-all.tsx';
import { type FailureGroup, failureGroups } from '../operation/same-failure.ts';
import { numberText } from './counts.ts';

const SHOWN = 6;
/** So many of the newest are compared. */
const READ = 60;
const FAILED = 'phase = FAILED';
const DAY_MS = 86_400_000;
const ENDED = { FAILED: 'failed', CANCELED: 'canceled', SUCCEEDED: 'succeeded' } as const;

export function FailedPanel({ overview }: { overview: Overview }) {
  const { operationsEnded: ended } = overview;
  // Rounded to the minute, so that the query key does not change every second.
  const minute = Math.floor(((msOf(overview.at) ?? 0) - DAY_MS) / 60_000) * 60_000;
  const since = quoted(new Date(minute).toISOString());
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
      <Failures filter={`${FAILED} AND finished_at > ${since}`} />
    </Panel>
  );
}

interface RecentFailure extends FailureGroup {
  /** Of its machines, those that still need someone. */
  readonly waiting: readonly string[];
}

async function readFailures(filter: string, signal: AbortSignal): Promise<readonly RecentFailure[]> {
  const { operations: found } = await operations.listOperations({ filter, pageSize: READ }, { signal });
  const groups = failureGroups(found.map(operationView)).slice(0, SHOWN);
  const many = groups.filter(({ machineIds }) => machineIds.length > 1);
  const waiting = await stillFailed(
    many.flatMap(({ machineIds }) => machineIds),
    signal,
  );
  return groups.map((group) => ({ ...group, waiting: group.machineIds.filter((id) => waiting.has(id)) }));
}

function Failures({ filter }: { filter: string }) {
  const list = useQuery({
    queryKey: ['fleet-wide', 'fleet-failures', filter],
    queryFn: ({ signal }) => readFailures(filter, signal),
  });
  if (list.isPending) return <Loading />;
  if (list.isError && !list.data)
    return <Failed what="Failed to load operations" error={list.error} onRetry={() => void list.refetch()} />;
  if (list.data.length === 0) return <Empty title="No failures in the last 24 hours" />;
  return (
    <table className="table fixed">
      <thead>
        <tr>
          <th>Operation</th>
          <th className="widest">Machine</th>
          <th className="narrow">Finished</th>
        </tr>
      </thead>
      <tbody>
        {list.data.map((failure) => (
          <FailureRow key={failure.newest.operationId} failure={failure} />
        ))}
      </tbody>
    </table>
  );
}

function FailureRow({ failure: { newest, machineIds, waiting } }: { failure: RecentFailure }) {
  const { operationId, machineId, type, message } = newest;
  return (
    <tr>
      <td>
        <Link href={operationHref(operationId)}>{operationWords(type)}</Link>
        <div className="soft clipped" title={message.error?.message}>
          {message.error?.message}
        </div>
      </td>
      <td>
        {machineIds.length === 1 ? (
          <Link className="mono clipped" href={machineHref(machineId)}>
            {machineId}
          </Link>
        ) : (
          <span className="row">
            <strong title={machineIds.join('\n')}>{countText(machineIds.length)}</strong>
            {waiting.length > 1 && <RetryAll of={newest} machineIds={waiting} text="short" />}
          </span>
        )}
      </td>
      <td>
        <Age at={message.finishedAt} />
      </td>
    </tr>
  );
}
