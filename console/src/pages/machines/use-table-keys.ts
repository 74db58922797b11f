import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { useRowKeys } from '../../keyboard/use-row-keys.ts';
import { machineHref } from '../../pages.ts';
import type { PlacedGroup, TableLayout } from './table-layout.ts';
import type { MachineList } from './use-machine-list.ts';

interface TableKeysOptions {
  readonly list: MachineList;
  readonly layout: TableLayout;
  readonly scroller: { readonly current: HTMLDivElement | null };
  readonly scrollTo: (place: number) => void;
  readonly toggle: (group: PlacedGroup) => void;
}

/** Keys that move through the rows. The link of the highlighted row gets the focus as soon as the row is rendered. */
export function useTableKeys({ list, layout, scroller, scrollTo, toggle }: TableKeysOptions) {
  const [, navigate] = useLocation();
  const focusWanted = useRef(-1);
  const keys = useRowKeys(
    layout.places,
    (place) => {
      const entry = layout.at(place);
      if (entry.kind === 'group') return toggle(entry.group);
      const id = list.ids[entry.index];
      if (id !== undefined) navigate(machineHref(id));
    },
    (place) => {
      scrollTo(place);
      focusWanted.current = place;
    },
  );
  const { marked } = keys;
  useEffect(() => {
    if (focusWanted.current !== marked || marked < 0) return;
    const row = scroller.current?.querySelector(`[data-place="${marked}"]`);
    const link = row?.querySelector<HTMLElement>('a, button');
    if (!link) return;
    focusWanted.current = -1;
    link.focus({ preventScroll: true });
  });
  return keys;
}
