import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo } from 'react';
import type { Slot } from './machine-columns.tsx';
import type { MachineList } from './use-machine-list.ts';
import { type Rows, useRowsVersion } from './use-machine-rows.ts';

export const ROW_HEIGHT = 34;
const HEAD_HEIGHT = 34;
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
  const virtualizer = useVirtualizer({
    count: list.ids.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    scrollMargin: HEAD_HEIGHT,
    scrollPaddingStart: HEAD_HEIGHT,
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
  const { range } = virtualizer;
  return {
    slots,
    /** The ids that are on the screen, without the rows rendered around it. */
    idsInView: range ? list.ids.slice(range.startIndex, range.endIndex + 1) : [],
    heightAbove: first * ROW_HEIGHT,
    heightBelow: Math.max(0, list.ids.length - end) * ROW_HEIGHT,
    scrollTo: (row: number) => virtualizer.scrollToIndex(row),
  };
}
