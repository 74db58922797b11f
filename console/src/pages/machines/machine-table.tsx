/**
 * The table. Only the visible rows are rendered, between two fillers with the height of all others; all rows have the
 * same height. The order is the list's: an event changes the cells of a machine, never its position.
 */
import { type Row as TableRow, useTable } from '@tanstack/react-table';
import {
  type MouseEvent,
  memo,
  type ReactNode,
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useKey } from '../../keyboard/shortcuts.tsx';
import { TableFiller } from '../../ui/table-filler.tsx';
import { usePhone } from '../../ui/use-phone.ts';
import { columnWidths } from './column-widths.ts';
import { type GroupActions, GroupRow, selectedIn } from './group-row.tsx';
import type { ListPosition } from './list-position.ts';
import { features, machineColumns, type Slot } from './machine-columns.tsx';
import type { SelectedIds } from './selection.ts';
import type { Entry, PlacedGroup } from './table-layout.ts';
import { useKeepPosition } from './use-list-position.ts';
import { isWhole, type MachineList } from './use-machine-list.ts';
import type { Rows } from './use-machine-rows.ts';
import { useTableKeys } from './use-table-keys.ts';
import { useTableLayout } from './use-table-layout.ts';
import { useVisibleRows } from './use-visible-rows.ts';
import { columnFacts, FIXED_COLUMN, type Sort } from './view.ts';

const CHECKBOX_WIDTH = 40;

export interface MachineTableProps {
  readonly list: MachineList;
  readonly rows: Rows;
  /** The field that the list is grouped by; empty: none. */
  readonly group: string;
  readonly columns: readonly string[];
  readonly sort: Sort;
  readonly onSort: (field: string) => void;
  readonly selected: SelectedIds;
  readonly onSelect: (machineId: string, how: 'one' | 'range') => void;
  readonly onSelectPart: (part: PlacedGroup, to: 'in' | 'out') => void;
  readonly onSelectAll: () => void;
  /** Where the list was left; updated while the user scrolls. */
  readonly position: { current: ListPosition | null };
}

export function MachineTable(props: MachineTableProps) {
  const { list, rows, group, columns, sort, onSort, selected, onSelect, onSelectAll, position } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const { layout, toggle } = useTableLayout(list, group);
  const visible = useVisibleRows({ list, layout, rows, scroller });
  const { slots, entries, rowHeight, heightAbove, heightBelow, scrollTo } = visible;
  const { marked, mark } = useTableKeys({ list, layout, scroller, scrollTo, toggle });
  useKeepPosition({ list, layout, position, scroller, rowHeight, marked, mark });
  const groupActions: GroupActions = {
    onToggle: (of) => {
      toggle(of);
      mark(of.place);
    },
    onSelect: (of) =>
      props.onSelectPart(of, selectedIn(of, list, selected) === of.to - of.from ? 'out' : 'in'),
  };
  useSelectKeys(() => {
    if (marked < 0) return;
    const entry = layout.at(marked);
    if (entry.kind === 'group') groupActions.onSelect(entry.group);
    else onSelect(list.ids[entry.index] ?? '', 'one');
  });
  const isPhone = usePhone();
  const longestId = useMemo(() => list.ids.reduce((most, id) => Math.max(most, id.length), 0), [list.ids]);
  const width = useWidth(scroller) - CHECKBOX_WIDTH;
  const widths = columnWidths(columns, { width, longestId: isPhone ? 0 : longestId });
  const columnKey = JSON.stringify([...widths]);
  const table = useMachineColumns(columnKey, slots);
  const select = useCallback(
    (slot: Slot, event: MouseEvent) => {
      mark(slot.place);
      onSelect(slot.machineId, event.shiftKey ? 'range' : 'one');
    },
    [mark, onSelect],
  );
  return (
    <div className="machine-scroller" ref={scroller}>
      <table
        className="machine-table"
        aria-rowcount={layout.places + 1}
        style={{ width: table.getTotalSize() + CHECKBOX_WIDTH }}
      >
        <caption className="visually-hidden">Machines</caption>
        <colgroup>
          <col style={{ width: CHECKBOX_WIDTH }} />
          {table.getVisibleLeafColumns().map((column) => (
            <col key={column.id} style={{ width: column.getSize() }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            <th className="tick">
              <SelectAll list={list} selected={selected} onSelect={onSelectAll} />
            </th>
            {table.getVisibleLeafColumns().map(({ id }) => (
              <Heading key={id} id={id} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <TableFiller height={heightAbove} />
        <tbody>
          {inOrderOf(entries, table.getRowModel().rows, (entry, row) =>
            entry.kind === 'group' ? (
              <GroupRow
                key={`group ${entry.group.value}`}
                group={entry.group}
                list={list}
                selected={selected}
                marked={entry.group.place === marked}
                columns={widths.size}
                {...groupActions}
              />
            ) : (
              row && (
                <MachineRow
                  key={row.id}
                  row={row}
                  columnKey={columnKey}
                  selected={selected.has(row.id)}
                  marked={row.original.place === marked}
                  onSelect={select}
                />
              )
            ),
          )}
        </tbody>
        <TableFiller height={heightBelow} />
      </table>
    </div>
  );
}

/** Draws headings and rows: the rows are those of the machines among the entries, in the same order. */
function inOrderOf<Row>(
  entries: readonly Entry[],
  rows: readonly Row[],
  draw: (entry: Entry, row: Row | undefined) => ReactNode,
): ReactNode[] {
  let drawn = 0;
  return entries.map((entry) => {
    const row = entry.kind === 'machine' ? rows[drawn] : undefined;
    if (entry.kind === 'machine') drawn += 1;
    return draw(entry, row);
  });
}

/** Infinity before it was measured. */
function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(Number.POSITIVE_INFINITY);
  useLayoutEffect(() => {
    if (!element.current) return;
    const measure = () => setWidth(element.current?.clientWidth ?? Number.POSITIVE_INFINITY);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

/** `columnKey` is the widths of the shown columns: a text, so that equal columns are the same dependency. */
function useMachineColumns(columnKey: string, data: Slot[]) {
  const [definitions, columnVisibility] = useMemo(() => {
    const widths = new Map(JSON.parse(columnKey) as [string, number][]);
    const all = machineColumns(widths);
    return [all, Object.fromEntries(all.map(({ id = '' }) => [id, widths.has(id)]))];
  }, [columnKey]);
  return useTable({
    features,
    columns: definitions,
    data,
    getRowId: ({ machineId }) => machineId,
    state: { columnVisibility },
  });
}

interface SelectAllProps {
  readonly list: MachineList;
  readonly selected: SelectedIds;
  readonly onSelect: () => void;
}

/** All that match, whatever is in view. */
function SelectAll({ list, selected, onSelect }: SelectAllProps) {
  const { ids } = list;
  // The selection is always a part of the list.
  const count = selected.size;
  return (
    <input
      type="checkbox"
      aria-label="Select all that match"
      disabled={!isWhole(list)}
      checked={ids.length > 0 && count === ids.length}
      ref={(box) => {
        if (box) box.indeterminate = count > 0 && count < ids.length;
      }}
      onChange={onSelect}
    />
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
        {isSorted && <span aria-hidden="true">{sort.direction === 'ascending' ? '▲' : '▼'}</span>}
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
  // The table creates new row objects on every render, so their contents are compared.
  (before, after) =>
    before.row.original.machine === after.row.original.machine &&
    before.row.original.place === after.row.original.place &&
    before.columnKey === after.columnKey &&
    before.selected === after.selected &&
    before.marked === after.marked &&
    before.onSelect === after.onSelect,
);

/** `x` and the space bar select the highlighted row. */
function useSelectKeys(select: () => void): void {
  useKey('x', 'Select the highlighted row', select);
  useKey(' ', 'Select the highlighted row', (event) => {
    const { target } = event;
    // A button that has the focus takes precedence.
    if (target instanceof HTMLElement && target.matches('button, summary')) target.click();
    else select();
  });
}
