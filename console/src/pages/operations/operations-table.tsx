/** The table of operations; only visible rows are rendered. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { operationLifecycle } from '../../../../src/domain/operation/operation-status.ts';
import { toneOf } from '../../../../src/domain/tone.ts';
import type { Operation } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { useRowKeys } from '../../keyboard/use-row-keys.ts';
import { type OperationView, operationView } from '../../operation-view.ts';
import { operationWords } from '../../operation-words.ts';
import { machineHref, operationHref } from '../../pages.ts';
import { shortId } from '../../ui/copyable-id.tsx';
import { TableFiller } from '../../ui/table-filler.tsx';
import { Age, Duration } from '../../ui/time.tsx';

export interface OperationsTableProps {
  readonly operations: readonly Operation[];
  readonly onOpen: (operation: Operation) => void;
  /** Called when the last rows are visible. */
  readonly onEnd: () => void;
  readonly foot: ReactNode;
}

const ROW_PX = 50;
const HEAD_PX = 44;
/** The next page is loaded when this many rows are left below. */
const NEAR_END = 20;

const COLUMNS = [
  ['id', 'Operation, type'],
  ['machine', 'Machine, started by'],
  ['state', 'State, step'],
  ['age', 'Age, duration'],
  ['error', 'Error'],
] as const;

export function OperationsTable({ operations, onOpen, onEnd, foot }: OperationsTableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: operations.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
    scrollPaddingStart: HEAD_PX,
    useFlushSync: false,
  });
  const { marked } = useRowKeys(
    operations.length,
    (row) => {
      const operation = operations[row];
      if (operation) onOpen(operation);
    },
    (row) => virtualizer.scrollToIndex(row),
  );
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const isNearEnd = last >= operations.length - NEAR_END;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end can still be visible after more rows came
  useEffect(() => {
    if (isNearEnd) onEnd();
  }, [isNearEnd, operations.length]);
  const above = items[0]?.start ?? 0;
  const below = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <div className="ops-scroll" ref={scroller}>
      <table className="table ops" aria-rowcount={operations.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {COLUMNS.map(([name, title]) => (
              <th key={name} className={`ops-${name}`} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <TableFiller height={above} columns={COLUMNS.length} />
        <tbody>
          {items.map(({ index }) => {
            const operation = operations[index];
            if (!operation) return null;
            return (
              <Row
                key={operation.operationId}
                operation={operation}
                place={index + 2}
                isMarked={index === marked}
              />
            );
          })}
        </tbody>
        <TableFiller height={below} columns={COLUMNS.length} />
      </table>
      {foot}
    </div>
  );
}

interface RowProps {
  readonly operation: Operation;
  readonly place: number;
  readonly isMarked: boolean;
}

const Row = memo(function Row({ operation, place, isMarked }: RowProps) {
  const view = operationView(operation);
  const { createdAt, startedAt, finishedAt, startedBy, error } = operation;
  return (
    <tr aria-rowindex={place} aria-selected={isMarked}>
      <td>
        <Link
          href={operationHref(view.operationId)}
          aria-label={`${operationWords(view.type)} ${view.machineId}, ${view.operationId}`}
        >
          {operationWords(view.type)}
        </Link>
        <div className="soft mono" title={view.operationId}>
          {shortId(view.operationId)}
        </div>
      </td>
      <td>
        <Link className="mono" href={machineHref(view.machineId)} title={view.machineId}>
          {view.machineId}
        </Link>
        <div className="soft" title={startedBy}>
          {startedBy}
        </div>
      </td>
      <td>
        <span className={`badge tone-${toneOf('status', view.status)}`}>{view.phase}</span>
        <StepCell view={view} />
      </td>
      <td>
        <Age at={createdAt} suffix="" />
        <div className="soft">
          <Duration from={startedAt} to={finishedAt} />
        </div>
      </td>
      <td title={error?.message}>
        <div className="ops-message">{error?.message ?? ''}</div>
      </td>
    </tr>
  );
});

function StepCell({ view }: { view: OperationView }) {
  const { currentStep, progressPercent, waitingFor } = view.message;
  if (!view.isActive) {
    const { meaning } = operationLifecycle.states[view.status] ?? { meaning: '' };
    return (
      <div className="soft" title={meaning}>
        {view.status}
      </div>
    );
  }
  return (
    <div className={`ops-progress tone-${toneOf('status', view.status)}`} title={waitingFor}>
      <span className="numeric">{progressPercent}%</span>
      <div className="progress" aria-hidden="true">
        <div style={{ width: `${progressPercent}%` }} />
      </div>
      <span className="ops-step-name">{currentStep || 'queued'}</span>
    </div>
  );
}
