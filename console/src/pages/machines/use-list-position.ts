import { useEffect, useLayoutEffect, useRef } from 'react';
import { type ListPosition, positionIn } from './list-position.ts';
import type { TableLayout } from './table-layout.ts';
import type { MachineList } from './use-machine-list.ts';

export interface KeepPositionOptions {
  readonly list: MachineList;
  readonly layout: TableLayout;
  readonly position: { current: ListPosition | null };
  readonly scroller: { readonly current: HTMLDivElement | null };
  readonly rowHeight: number;
  /** A place in the table; -1: none. */
  readonly marked: number;
  readonly mark: (place: number) => void;
}

/** Keeps the machine at the top of the screen there when the list is refreshed. Another list starts at its top. */
export function useKeepPosition(options: KeepPositionOptions): void {
  const { list, layout: shown, position, scroller, rowHeight, marked, mark } = options;
  const layout = useRef(shown);
  layout.current = shown;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const before = position.current;
    const restored = before?.list.key === list.key ? positionIn(list, before) : null;
    const isTop = !restored || (restored.row === 0 && restored.offset === 0);
    element.scrollTop = isTop ? 0 : layout.current.placeOf(restored.row) * rowHeight + restored.offset;
    mark(restored && restored.marked >= 0 ? layout.current.placeOf(restored.marked) : -1);
    const remember = () => {
      const { scrollTop } = element;
      position.current = {
        list,
        row: layout.current.machineFrom(Math.floor(scrollTop / rowHeight)),
        offset: scrollTop % rowHeight,
        marked: position.current?.list === list ? position.current.marked : (restored?.marked ?? -1),
      };
    };
    remember();
    element.addEventListener('scroll', remember, { passive: true });
    return () => element.removeEventListener('scroll', remember);
  }, [list, position, scroller, rowHeight, mark]);
  useEffect(() => {
    const machine = marked < 0 ? -1 : layout.current.machineFrom(marked);
    if (position.current) position.current = { ...position.current, marked: machine };
  }, [position, marked]);
}
