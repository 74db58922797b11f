import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo } from 'react';
import { density, ROW_HEIGHTS } from '../../theme.ts';
import type { Slot } from './machine-columns.tsx';
import type { MachineList } from './use-machine-list.ts';
import { type Rows, useRowsVersion } from './use-machine-rows.ts';

const OVERSCAN = 6;
/** Rows are fetched before they become visible, and in chunks. */
const AHEAD = 25;
const CHUNK = 50;

/** The rows to render for the scroll position. Has them fetched, together with those close to them. */
export function useVisibleRows(
  list: MachineList,
  rows: Rows,
  scroller: { readonly current: HTMLDivElement | null },
) {
  const version = useRowsVersion(rows);
  const rowHeight = ROW_HEIGHTS[density()];
  const virtualizer = useVirtualizer({
    count: list.ids.length,
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
  useEffect(() => rows.want(list.ids.slice(fetchFrom, fetchTo)), [rows, list, fetchFrom, fetchTo]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the version changes when rows change
  const slots = useMemo<Slot[]>(
    () =>
      list.ids
        .slice(first, end)
        .map((machineId, offset) => ({ machineId, index: first + offset, machine: rows.get(machineId) })),
    [list, rows, first, end, version],
  );
  return {
    slots,
    rowHeight,
    heightAbove: first * rowHeight,
    heightBelow: Math.max(0, list.ids.length - end) * rowHeight,
    scrollTo: (row: number) => virtualizer.scrollToIndex(row),
  };
}
