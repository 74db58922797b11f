/** The scroll position in a list, by machine and not by row number. */
import type { ShownList } from './selection.ts';

export interface ListPosition {
  readonly list: ShownList & { readonly key: string };
  /** The first visible row, and how many pixels of it are hidden. */
  readonly row: number;
  readonly offset: number;
  /** The highlighted row; -1: none. */
  readonly marked: number;
}

/** The position of the same machine in another list; if it is gone, of the next machine that is not. */
export function positionIn(
  next: ShownList,
  { list, row, offset, marked }: ListPosition,
): Omit<ListPosition, 'list'> {
  const markedId = list.ids[marked];
  const markedRow = markedId === undefined ? -1 : (next.positions.get(markedId) ?? -1);
  // A list that is scrolled to the top stays there, so that rows added above are visible.
  if (row === 0 && offset === 0) return { row: 0, offset: 0, marked: markedRow };
  for (let index = row; index < list.ids.length; index += 1) {
    const found = next.positions.get(list.ids[index] ?? '');
    if (found !== undefined) return { row: found, offset: index === row ? offset : 0, marked: markedRow };
  }
  return { row: Math.max(0, next.ids.length - 1), offset: 0, marked: markedRow };
}
