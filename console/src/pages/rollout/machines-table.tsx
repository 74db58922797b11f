/** The machines of the grid as a table, for reading, for keyboards and for screen readers; only visible rows are rendered. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useRef } from 'react';
import { Link } from 'wouter';
import { toneOf } from '../../../../src/domain/tone.ts';
import { machineHref, operationHref } from '../../pages.ts';
import { MACHINE_STATE_WORDS } from '../../rollout-view.ts';
import { TableFiller } from '../../ui/table-filler.tsx';
import { durationText, useNow } from '../../ui/time.tsx';
import type { GridMachine } from './rollout-machines.ts';

export interface MachinesTableProps {
  readonly machines: readonly GridMachine[];
  readonly steps: number;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (machineId: string) => void;
  readonly onSelectAll: () => void;
}

const ROW_PX = 36;

const COLUMNS = [
  ['machine', 'Machine'],
  ['wave', 'Wave'],
  ['state', 'State'],
  ['step', 'Step'],
  ['message', 'Error or what it waits for'],
  ['operation', 'Operation'],
  ['time', 'Duration'],
] as const;

export function MachinesTable(props: MachinesTableProps) {
  const { machines, selected, onSelect, onSelectAll } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: machines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
    useFlushSync: false,
  });
  const items = virtualizer.getVirtualItems();
  const below = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);
  const isAll = machines.length > 0 && machines.every(({ machineId }) => selected.has(machineId));
  return (
    <section
      className="ro-table-scroll"
      ref={scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll area must be reachable by keyboard
      tabIndex={0}
      aria-label="Machines of the rollout"
    >
      <table className="table ro-machines" aria-rowcount={machines.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <th className="ro-col-select">
              <input
                type="checkbox"
                aria-label="Select all machines that are shown"
                checked={isAll}
                onChange={onSelectAll}
              />
            </th>
            {COLUMNS.map(([name, title]) => (
              <th key={name} className={`ro-col-${name}`} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <TableFiller height={items[0]?.start ?? 0} columns={COLUMNS.length + 1} />
        <tbody>
          {items.map(({ index }) => {
            const machine = machines[index];
            return (
              machine && (
                <Row
                  key={machine.machineId}
                  machine={machine}
                  place={index + 2}
                  steps={props.steps}
                  isSelected={selected.has(machine.machineId)}
                  onSelect={onSelect}
                />
              )
            );
          })}
        </tbody>
        <TableFiller height={below} columns={COLUMNS.length + 1} />
      </table>
    </section>
  );
}

interface RowProps {
  readonly machine: GridMachine;
  readonly place: number;
  readonly steps: number;
  readonly isSelected: boolean;
  readonly onSelect: (machineId: string) => void;
}

const Row = memo(function Row({ machine, place, steps, isSelected, onSelect }: RowProps) {
  const { machineId, wave, state, step, stepName, operationId, errorCode, message, attempts } = machine;
  const why = [errorCode, message].filter((text) => text !== '').join(': ');
  return (
    <tr aria-rowindex={place} aria-selected={isSelected}>
      <td>
        <input
          type="checkbox"
          aria-label={`Select ${machineId}`}
          checked={isSelected}
          onChange={() => onSelect(machineId)}
        />
      </td>
      <td>
        <Link className="mono" href={machineHref(machineId)} title={machineId}>
          {machineId}
        </Link>
      </td>
      <td className="numeric">{wave === 0 ? '–' : wave}</td>
      <td>
        <span className={`badge tone-${toneOf('rollout_machine', state)}`}>{MACHINE_STATE_WORDS[state]}</span>
      </td>
      <td title={stepName}>
        {state === 'succeeded' || step === 0 || step > steps ? '' : `${step} ${stepName}`}
        {attempts > 1 && <span className="soft">{` · attempt ${attempts}`}</span>}
      </td>
      <td title={why}>{why}</td>
      <td>
        {operationId !== '' && (
          <Link className="mono" href={operationHref(operationId)} title={operationId}>
            {operationId}
          </Link>
        )}
      </td>
      <td>
        <Elapsed machine={machine} />
      </td>
    </tr>
  );
});

function Elapsed({ machine: { startedAt, finishedAt } }: { machine: GridMachine }) {
  const now = useNow();
  if (startedAt === null) return <span className="soft">–</span>;
  return <span className="numeric">{durationText((finishedAt ?? now) - startedAt)}</span>;
}
