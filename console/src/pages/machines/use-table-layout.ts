/** Headings and machines of the table, and which groups are collapsed. */
import { useMemo, useReducer } from 'react';
import { type PlacedGroup, TableLayout } from './table-layout.ts';
import type { MachineList } from './use-machine-list.ts';

/** Which groups were collapsed, by field: they are when the user comes back. */
const collapsedBefore = new Map<string, ReadonlySet<string | null>>();
const NONE_COLLAPSED: ReadonlySet<string | null> = new Set();

export function useTableLayout({ ids, groups }: MachineList, field: string) {
  const [, drawAgain] = useReducer((count: number) => count + 1, 0);
  const collapsed = collapsedBefore.get(field) ?? NONE_COLLAPSED;
  const layout = useMemo(() => new TableLayout(ids.length, groups, collapsed), [ids, groups, collapsed]);
  const toggle = ({ value }: PlacedGroup) => {
    const next = new Set(collapsed);
    if (!next.delete(value)) next.add(value);
    collapsedBefore.set(field, next);
    drawAgain();
  };
  return { layout, toggle };
}
