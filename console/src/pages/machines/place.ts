/** Where in a list somebody is, by the machine and not by the number of its row. */
import type { ShownList } from './selection.ts';

export interface Place {
  readonly list: ShownList & { readonly key: string };
  /** The first row that is seen, and how much of it is hidden. */
  readonly row: number;
  readonly offset: number;
  /** -1: none. */
  readonly marked: number;
}

export interface FoundPlace {
  readonly row: number;
  readonly offset: number;
  readonly marked: number;
}

/** Where the same machine is in another list; if it is gone, the next one that is not. */
export function placeAfter({ list, row, offset, marked }: Place, next: ShownList): FoundPlace {
  const markedId = list.ids[marked];
  const markedRow = markedId === undefined ? -1 : (next.positions.get(markedId) ?? -1);
  // Whoever is at the top sees what comes in above.
  if (row === 0 && offset === 0) return { row: 0, offset: 0, marked: markedRow };
  for (let index = row; index < list.ids.length; index += 1) {
    const found = next.positions.get(list.ids[index] ?? '');
    if (found !== undefined) return { row: found, offset: index === row ? offset : 0, marked: markedRow };
  }
  return { row: Math.max(0, next.ids.length - 1), offset: 0, marked: markedRow };
}
