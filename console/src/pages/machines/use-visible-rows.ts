import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo } from 'react';
import { density, ROW_HEIGHTS } from '../../theme.ts';
import type { Slot } from './machine-columns.tsx';
import type { Entry, TableLayout } from './table-layout.ts';
import type { MachineList } from './use-machine-list.ts';
import { type Rows, useRowsVersion } from './use-machine-rows.ts';

const OVERSCAN = 6;
/** Rows are fetched before they become visible, and in chunks. */
const AHEAD = 25;
const CHUNK = 50;

export interface VisibleRowsOptions {
  readonly list: MachineList;
  readonly layout: TableLayout;
  readonly rows: Rows;
  readonly scroller: { readonly current: HTMLDivElement | null };
}

/** What to render for the scroll position. Has the machines fetched, together with those close to them. */
export function useVisibleRows({ list, layout, rows, scroller }: VisibleRowsOptions) {
  const version = useRowsVersion(rows);
  const rowHeight = ROW_HEIGHTS[density()];
  const virtualizer = useVirtualizer({
    count: layout.places,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    scrollMargin: rowHeight,
    scrollPaddingStart: rowHeight,
  });
  const items = virtualizer.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const end = (items.at(-1)?.index ?? -1) + 1;
  const fetchFrom = Math.max(0, Math.floor((first - AHEAD) / CHUNK) * CHUNK);
  const fetchTo = Math.ceil((end + AHEAD) / CHUNK) * CHUNK;
  useEffect(() => {
    const near = entriesIn(layout, fetchFrom, fetchTo);
    rows.want(near.flatMap((entry) => (entry.kind === 'machine' ? (list.ids[entry.index] ?? []) : [])));
  }, [rows, list, layout, fetchFrom, fetchTo]);

  const entries = useMemo(() => entriesIn(layout, first, end), [layout, first, end]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version changes when rows change
  const slots = useMemo<Slot[]>(
    () =>
      entries.flatMap((entry, offset) => {
        const machineId = entry.kind === 'machine' ? list.ids[entry.index] : undefined;
        if (machineId === undefined) return [];
        return [{ machineId, place: first + offset, machine: rows.get(machineId) }];
      }),
    [list, rows, entries, first, version],
  );
  return {
    entries,
    slots,
    rowHeight,
    heightAbove: first * rowHeight,
    heightBelow: Math.max(0, layout.places - end) * rowHeight,
    scrollTo: (place: number) => virtualizer.scrollToIndex(place),
  };
}

function entriesIn(layout: TableLayout, from: number, to: number): Entry[] {
  const count = Math.max(0, Math.min(to, layout.places) - from);
  return Array.from({ length: count }, (_, offset) => layout.at(from + offset));
}
