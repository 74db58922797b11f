/**
 * The table. Only the rows of the screen are in the page, between two fillers that are as high as all the others; all
 * rows have the same height. The order is the list's: what happens to a machine changes its cells and never its place.
 */
import { type Row as TableRow, useTable } from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type MouseEvent, memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import { useLocation } from 'wouter';
import { useKey } from '../../keyboard/shortcuts.tsx';
import { useRowKeys } from '../../keyboard/use-row-keys.ts';
import { machineHref } from '../../pages.ts';
import { features, machineColumns, type Slot } from './machine-columns.tsx';
import { type Place, placeAfter } from './place.ts';
import type { MachineList } from './use-machine-list.ts';
import { type Rows, useRowsVersion } from './use-machine-rows.ts';
import { columnFacts, FIXED_COLUMN, type Sort } from './view.ts';

const ROW = 34;
const HEAD = 34;
const TICK = 40;
const OVERSCAN = 6;
/** Rows are fetched before they are seen, and not one by one. */
const AHEAD = 25;
const CHUNK = 50;

export interface MachineTableProps {
  readonly list: MachineList;
  readonly rows: Rows;
  readonly columns: readonly string[];
  readonly sort: Sort;
  readonly onSort: (field: string) => void;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (machineId: string, how: 'one' | 'range') => void;
  readonly onSelectShown: (machineIds: readonly string[]) => void;
  /** Where somebody was when they left this list, and where they are. */
  readonly place: { current: Place | null };
}

export function MachineTable(props: MachineTableProps) {
  const { list, rows, columns, sort, onSort, selected, onSelect, onSelectShown, place } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, navigate] = useLocation();
  const version = useRowsVersion(rows);
  const virtualizer = useVirtualizer({
    count: list.ids.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: OVERSCAN,
    scrollMargin: HEAD,
    scrollPaddingStart: HEAD,
  });
  const keys = useRowKeys(
    list.ids.length,
    (row) => {
      const id = list.ids[row];
      if (id !== undefined) navigate(machineHref(id));
    },
    (row) => {
      virtualizer.scrollToIndex(row);
      focusWanted.current = row;
    },
  );
  const focusWanted = useRef(-1);
  const { marked, mark } = keys;

  useKeepPlace({ list, place, scroller, marked, mark });
  useSelectKeys(list.ids[marked], onSelect);

  const items = virtualizer.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const end = (items.at(-1)?.index ?? -1) + 1;
  const wantedFrom = Math.max(0, Math.floor((first - AHEAD) / CHUNK) * CHUNK);
  const wantedTo = Math.ceil((end + AHEAD) / CHUNK) * CHUNK;
  useEffect(() => rows.want(list.ids.slice(wantedFrom, wantedTo)), [rows, list, wantedFrom, wantedTo]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the version says that rows have changed
  const data = useMemo<Slot[]>(
    () =>
      list.ids
        .slice(first, end)
        .map((machineId, offset) => ({ machineId, place: first + offset, machine: rows.get(machineId) })),
    [list, rows, first, end, version],
  );
  const columnKey = columns.join();
  const definitions = useMemo(() => machineColumns(columnKey.split(',')), [columnKey]);
  const columnVisibility = useMemo(
    () => Object.fromEntries(definitions.map(({ id = '' }) => [id, columnKey.split(',').includes(id)])),
    [definitions, columnKey],
  );
  const table = useTable({
    features,
    columns: definitions,
    data,
    getRowId: ({ machineId }) => machineId,
    state: { columnVisibility },
  });

  useEffect(() => {
    if (focusWanted.current !== marked || marked < 0) return;
    const link = scroller.current?.querySelector<HTMLElement>(`[data-place="${marked}"] a`);
    if (!link) return;
    focusWanted.current = -1;
    link.focus({ preventScroll: true });
  });

  const select = useCallback(
    (slot: Slot, event: MouseEvent) => {
      mark(slot.place);
      onSelect(slot.machineId, event.shiftKey ? 'range' : 'one');
    },
    [mark, onSelect],
  );
  const { range } = virtualizer;
  const inView = range ? list.ids.slice(range.startIndex, range.endIndex + 1) : [];
  const chosenInView = inView.filter((id) => selected.has(id)).length;
  const above = first * ROW;
  const below = Math.max(0, list.ids.length - end) * ROW;
  return (
    <div className="machine-scroller" ref={scroller}>
      <table
        className="machine-table"
        aria-rowcount={list.ids.length + 1}
        style={{ width: table.getTotalSize() + TICK }}
      >
        <caption className="visually-hidden">Machines</caption>
        <colgroup>
          <col style={{ width: TICK }} />
          {table.getVisibleLeafColumns().map((column) => (
            <col key={column.id} style={{ width: column.getSize() }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            <th className="tick">
              <input
                type="checkbox"
                aria-label="Select the rows in view"
                checked={inView.length > 0 && chosenInView === inView.length}
                ref={(box) => {
                  if (box) box.indeterminate = chosenInView > 0 && chosenInView < inView.length;
                }}
                onChange={() => onSelectShown(inView)}
              />
            </th>
            {table.getVisibleLeafColumns().map(({ id }) => (
              <Heading key={id} id={id} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <Filler height={above} />
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <MachineRow
              key={row.id}
              row={row}
              columnKey={columnKey}
              selected={selected.has(row.id)}
              marked={row.original.place === marked}
              onSelect={select}
            />
          ))}
        </tbody>
        <Filler height={below} />
      </table>
    </div>
  );
}

function Filler({ height }: { height: number }) {
  return (
    <tbody aria-hidden="true" className="filler">
      <tr style={{ height }}>
        <td />
      </tr>
    </tbody>
  );
}

function Heading({ id, sort, onSort }: { id: string; sort: Sort; onSort: (field: string) => void }) {
  const { title, order } = columnFacts(id);
  const isSorted = order !== '' && sort.field === order;
  const className = id === FIXED_COLUMN ? 'held' : undefined;
  if (order === '') return <th className={className}>{title}</th>;
  return (
    <th className={className} aria-sort={isSorted ? sort.direction : undefined}>
      <button type="button" className="heading" onClick={() => onSort(order)}>
        {title}
        <span aria-hidden="true">{isSorted ? (sort.direction === 'ascending' ? '▲' : '▼') : ''}</span>
      </button>
    </th>
  );
}

interface MachineRowProps {
  readonly row: TableRow<typeof features, Slot>;
  readonly columnKey: string;
  readonly selected: boolean;
  readonly marked: boolean;
  readonly onSelect: (slot: Slot, event: MouseEvent) => void;
}

const MachineRow = memo(
  function MachineRow({ row, selected, marked, onSelect }: MachineRowProps) {
    const { machineId, place } = row.original;
    const className = [selected ? 'selected' : '', marked ? 'marked' : ''].join(' ').trim();
    return (
      <tr
        data-place={place}
        aria-rowindex={place + 2}
        aria-current={marked || undefined}
        className={className || undefined}
      >
        <td className="tick">
          <input
            type="checkbox"
            aria-label={`Select ${machineId}`}
            checked={selected}
            onChange={() => {}}
            onClick={(event) => onSelect(row.original, event)}
          />
        </td>
        {row.getVisibleCells().map((cell) => (
          <td key={cell.id} className={cell.column.id === FIXED_COLUMN ? 'held' : undefined}>
            {typeof cell.column.columnDef.cell === 'function' &&
              cell.column.columnDef.cell(cell.getContext())}
          </td>
        ))}
      </tr>
    );
  },
  // The table makes its rows anew for each screen; what is in them decides.
  (before, after) =>
    before.row.original.machine === after.row.original.machine &&
    before.row.original.place === after.row.original.place &&
    before.columnKey === after.columnKey &&
    before.selected === after.selected &&
    before.marked === after.marked &&
    before.onSelect === after.onSelect,
);

/** `x` and the space bar select the marked row. */
function useSelectKeys(machineId: string | undefined, onSelect: MachineTableProps['onSelect']): void {
  const select = () => {
    if (machineId !== undefined) onSelect(machineId, 'one');
  };
  useKey('x', 'Select the marked row', select);
  useKey(' ', 'Select the marked row', (event) => {
    const { target } = event;
    // A button that has the focus means itself.
    if (target instanceof HTMLElement && target.matches('button, summary')) target.click();
    else select();
  });
}

interface KeepPlace {
  readonly list: MachineList;
  readonly place: { current: Place | null };
  readonly scroller: { readonly current: HTMLDivElement | null };
  readonly marked: number;
  readonly mark: (row: number) => void;
}

/** The machine at the top of the screen stays there when the list is read anew; another list begins at its top. */
function useKeepPlace({ list, place, scroller, marked, mark }: KeepPlace): void {
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const before = place.current;
    const found = before?.list.key === list.key ? placeAfter(before, list) : null;
    element.scrollTop = found ? found.row * ROW + found.offset : 0;
    mark(found?.marked ?? -1);
    const remember = () => {
      const { scrollTop } = element;
      place.current = {
        list,
        row: Math.floor(scrollTop / ROW),
        offset: scrollTop % ROW,
        marked: place.current?.list === list ? place.current.marked : (found?.marked ?? -1),
      };
    };
    remember();
    element.addEventListener('scroll', remember, { passive: true });
    return () => element.removeEventListener('scroll', remember);
  }, [list, place, scroller, mark]);
  useEffect(() => {
    if (place.current) place.current = { ...place.current, marked };
  }, [place, marked]);
}
