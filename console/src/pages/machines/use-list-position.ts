import { useEffect, useLayoutEffect } from 'react';
import { type ListPosition, positionIn } from './list-position.ts';
import type { MachineList } from './use-machine-list.ts';

export interface KeepPositionOptions {
  readonly list: MachineList;
  readonly position: { current: ListPosition | null };
  readonly scroller: { readonly current: HTMLDivElement | null };
  readonly rowHeight: number;
  readonly marked: number;
  readonly mark: (row: number) => void;
}

/** Keeps the machine at the top of the screen there when the list is refreshed. Another list starts at its top. */
export function useKeepPosition(options: KeepPositionOptions): void {
  const { list, position, scroller, rowHeight, marked, mark } = options;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const before = position.current;
    const restored = before?.list.key === list.key ? positionIn(list, before) : null;
    element.scrollTop = restored ? restored.row * rowHeight + restored.offset : 0;
    mark(restored?.marked ?? -1);
    const remember = () => {
      const { scrollTop } = element;
      position.current = {
        list,
        row: Math.floor(scrollTop / rowHeight),
        offset: scrollTop % rowHeight,
        marked: position.current?.list === list ? position.current.marked : (restored?.marked ?? -1),
      };
    };
    remember();
    element.addEventListener('scroll', remember, { passive: true });
    return () => element.removeEventListener('scroll', remember);
  }, [list, position, scroller, rowHeight, mark]);
  useEffect(() => {
    if (position.current) position.current = { ...position.current, marked };
  }, [position, marked]);
}
