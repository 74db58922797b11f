import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { operations } from '../../api/clients.ts';
import { type OperationView, operationView } from '../../operation-view.ts';
import { operationWords } from '../../operation-words.ts';
import { listOf, machineHref, operationHref } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Duration } from '../../ui/time.tsx';
import { numberText } from './counts.ts';

const SHOWN = 6;
const IN_PROGRESS = 'phase = PENDING OR phase = RUNNING';

export function InProgressPanel({ overview }: { overview: Overview }) {
  const byType = Object.entries(overview.operationsUnderWay).filter(([, count]) => count > 0);
  const total = byType.reduce((sum, [, count]) => sum + count, 0);
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
      <Operations />
    </Panel>
  );
}

function Operations() {
  const list = useQuery({
    queryKey: ['fleet-wide', 'fleet-operations'],
    queryFn: async () =>
      (await operations.listOperations({ filter: IN_PROGRESS, pageSize: SHOWN })).operations.map(
        operationView,
      ),
  });
  if (list.isPending) return <Loading />;
  if (list.isError && !list.data)
    return <Failed what="Failed to load operations" error={list.error} onRetry={() => void list.refetch()} />;
  if (list.data.length === 0) return <Empty title="No operations in progress" />;
  return (
    <table className="table fixed">
      <thead>
        <tr>
          <th>Operation</th>
          <th className="wide">Machine</th>
          <th className="narrow">State</th>
          <th className="narrow">Duration</th>
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
  operation: { operationId, machineId, type, phase, message },
}: {
  operation: OperationView;
}) {
  return (
    <tr>
      <td>
        <Link href={operationHref(operationId)}>{operationWords(type)}</Link>
        <div className="soft clipped">
          {`${message.progressPercent}% · ${message.currentStep || message.waitingFor}`}
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
        <Duration from={message.createdAt} to={message.finishedAt} />
      </td>
    </tr>
  );
}
