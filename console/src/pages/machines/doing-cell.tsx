/** What a machine is doing now: its operation with step and progress. */
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { operations } from '../../api/clients.ts';
import type { MachineView } from '../../machine-view.ts';
import { type OperationView, operationView } from '../../operation-view.ts';
import { operationWords } from '../../operation-words.ts';
import { operationHref } from '../../pages.ts';

/** One request for all rows; with more operations than this, the others show their type alone. */
const MOST = 500;
const UNDER_WAY = 'phase = PENDING OR phase = RUNNING';

function useUnderWay(isWanted: boolean): ReadonlyMap<string, OperationView> | undefined {
  const { data } = useQuery({
    queryKey: ['fleet-wide', 'doing'],
    queryFn: async () => {
      const { operations: found } = await operations.listOperations({ filter: UNDER_WAY, pageSize: MOST });
      return new Map(found.map((message) => [message.operationId, operationView(message)]));
    },
    enabled: isWanted,
  });
  return data;
}

export function DoingCell({ machine: { activeOperationId, message } }: { machine: MachineView }) {
  const underWay = useUnderWay(activeOperationId !== null);
  if (activeOperationId === null) return null;
  const operation = underWay?.get(activeOperationId)?.message;
  const type = operationWords(message.status?.activeOperationType ?? '') || 'Operation';
  return (
    <Link className="doing" href={operationHref(activeOperationId)} title={activeOperationId}>
      <span className="doing-type">{type}</span>
      {operation && (
        <>
          <span className="doing-step soft">{operation.currentStep || 'queued'}</span>
          <span className="soft numeric">{operation.progressPercent}%</span>
          <span className="progress tone-blue" aria-hidden="true">
            <span style={{ width: `${operation.progressPercent}%` }} />
          </span>
        </>
      )}
    </Link>
  );
}
