import { Link, useLocation } from 'wouter';
import { useRowKeys } from '../../keyboard/use-row-keys.ts';
import { operationWords } from '../../operation-words.ts';
import { operationHref } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { shortId } from '../../ui/copyable-id.tsx';
import { LoadMore } from '../../ui/load-more.tsx';
import { Age, Duration } from '../../ui/time.tsx';
import type { useOperations } from './use-operations.ts';

/** All operations on the machine, newest first. */
export function OperationsPanel({ list }: { list: ReturnType<typeof useOperations> }) {
  const [, navigate] = useLocation();
  const found = list.data?.pages.flat() ?? [];
  const { marked } = useRowKeys(
    found.length,
    (row) => navigate(operationHref(found[row]?.operationId ?? '')),
    (row) => document.querySelector(`[data-row="${row}"]`)?.scrollIntoView({ block: 'nearest' }),
  );
  if (list.isPending) return <Loading lines={6} />;
  if (list.isError && !list.data)
    return <Failed what="Failed to load operations" error={list.error} onRetry={() => void list.refetch()} />;
  if (found.length === 0)
    return <Empty title="No operations yet">Start one with the actions at the top of the page.</Empty>;
  return (
    <>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Operation</th>
            <th scope="col">Type</th>
            <th scope="col">Phase</th>
            <th scope="col">Started</th>
            <th scope="col">Duration</th>
            <th scope="col">Started by</th>
            <th scope="col">Step or error</th>
          </tr>
        </thead>
        <tbody>
          {found.map(({ operationId, type, phase, message }, row) => (
            <tr key={operationId} data-row={row} aria-selected={row === marked}>
              <td>
                <Link className="mono" href={operationHref(operationId)} title={operationId}>
                  {shortId(operationId)}
                </Link>
              </td>
              <td>{operationWords(type)}</td>
              <td>
                <StateBadge layer="operation_phase" state={phase} title={message.status} />
              </td>
              <td>
                <Age at={message.createdAt} />
              </td>
              <td>
                <Duration from={message.startedAt} to={message.finishedAt} />
              </td>
              <td>{message.startedBy}</td>
              <td className="comment">
                {message.error ? `${message.error.code}: ${message.error.message}` : message.currentStep}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <LoadMore list={list} />
    </>
  );
}
