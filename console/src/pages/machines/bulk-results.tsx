/** The result of each machine, failures first. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import { Link } from 'wouter';
import type { Tone } from '../../../../src/domain/tone.ts';
import { machineHref, operationHref } from '../../pages.ts';
import { csvField, download } from '../../ui/download.ts';
import { TableFiller } from '../../ui/table-filler.tsx';
import { BULK_STATES, type BulkResult, type BulkState } from './bulk-run.ts';

const ROW = 30;

/** In display order. */
const TONES = {
  failed: 'orange',
  sending: 'blue',
  started: 'green',
  stopped: 'yellow',
  waiting: 'gray',
  ineligible: 'gray',
} as const satisfies Record<BulkState, Tone>;

const ORDER = Object.keys(TONES) as BulkState[];

export function BulkResults({ results, version }: { results: readonly BulkResult[]; version: number }) {
  const scroller = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version says that results have changed
  const ordered = useMemo(
    () => ORDER.flatMap((wanted) => results.filter(({ state }) => state === wanted)),
    [results, version],
  );
  const virtualizer = useVirtualizer({
    count: ordered.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const items = virtualizer.getVirtualItems();
  const above = items[0]?.start ?? 0;
  const below = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard
    <section className="bulk-results" ref={scroller} tabIndex={0} aria-label="Results">
      <table>
        <thead className="visually-hidden">
          <tr>
            <th>Machine</th>
            <th>Result</th>
            <th>Operation or error</th>
          </tr>
        </thead>
        <TableFiller height={above} />
        <tbody>
          {items.map(({ index }) => {
            const result = ordered[index];
            return result && <ResultRow key={result.machineId} result={result} />;
          })}
        </tbody>
        <TableFiller height={below} />
      </table>
    </section>
  );
}

function ResultRow({ result: { machineId, state, operationId, message } }: { result: BulkResult }) {
  return (
    <tr>
      <td>
        <Link className="mono" href={machineHref(machineId)} title={machineId}>
          {machineId}
        </Link>
      </td>
      <td>
        <span className={`badge tone-${TONES[state]}`}>{BULK_STATES[state]}</span>
      </td>
      <td>
        {operationId === '' ? (
          <span title={message}>{message}</span>
        ) : (
          <Link className="mono" href={operationHref(operationId)} title={operationId}>
            {operationId}
          </Link>
        )}
      </td>
    </tr>
  );
}

export function downloadResults(name: string, results: readonly BulkResult[]): void {
  const lines = results.map(({ machineId, state, operationId, message }) =>
    [machineId, BULK_STATES[state], operationId, message].map(csvField).join(),
  );
  const file = `${name.toLowerCase().replaceAll('_', '-')}-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.csv`;
  download(file, 'text/csv', [['machine_id,result,operation_id,message', ...lines, ''].join('\r\n')]);
}
