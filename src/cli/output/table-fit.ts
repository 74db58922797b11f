/**
 * Which columns of a table fit a terminal. The first one always stays. Of the others, those that are empty go first, then those that
 * are not essential, then the rest, each from the last to the first; one that fits after all comes back. No word is broken: the last
 * column is cut between words, and has room for the first word of each of its cells.
 */
import { displayWidth } from './plain-text.ts';

export const GAP = '  ';
/** A last column that is cut shorter says nothing. */
export const SHORTEST_LAST = 24;
/** A first column that takes more of the terminal leaves too little for the others. */
const MOST_FOR_FIRST = 0.4;

/** A column and the widths of its texts on the first page. */
export interface Measured<C> {
  readonly column: C;
  readonly header: number;
  readonly cells: readonly number[];
  /** The part of each cell that is never cut. */
  readonly firstWords: readonly number[];
  readonly isEmpty: boolean;
  readonly isEssential: boolean;
}

export interface Fitted<C> {
  readonly columns: readonly C[];
  /** Longer cells of the first column have a line of their own. */
  readonly longestFirst: number;
}

const widest = (widths: readonly number[], least: number): number =>
  widths.reduce((most, width) => Math.max(most, width), least);

export function fitting<C>(measured: readonly Measured<C>[], available: number): Fitted<C> {
  const whole = measured.map(({ column }) => column);
  const unlimited = Number.POSITIVE_INFINITY;
  if (widthOf(measured, unlimited) <= available) return { columns: whole, longestFirst: unlimited };
  const longestFirst = limitOfFirst(measured[0], available);
  let kept = measured;
  for (const least of inOrderOfLeaving(measured.slice(1))) {
    if (widthOf(kept, longestFirst) <= available) break;
    kept = kept.filter((each) => each !== least);
  }
  for (const back of inOrderOfLeaving(measured.slice(1)).reverse()) {
    if (kept.includes(back)) continue;
    const withIt = measured.filter((each) => kept.includes(each) || each === back);
    if (widthOf(withIt, longestFirst) <= available) kept = withIt;
  }
  return { columns: kept.map(({ column }) => column), longestFirst };
}

function inOrderOfLeaving<C>(columns: readonly Measured<C>[]): Measured<C>[] {
  const fromLast = [...columns].reverse();
  const empty = fromLast.filter(({ isEmpty }) => isEmpty);
  const filled = fromLast.filter(({ isEmpty }) => !isEmpty);
  return [
    ...empty,
    ...filled.filter(({ isEssential }) => !isEssential),
    ...filled.filter(({ isEssential }) => isEssential),
  ];
}

/** Of the first column, where at most half of its cells are longer. */
function limitOfFirst<C>(first: Measured<C> | undefined, available: number): number {
  const limit = Math.max(first?.header ?? 0, Math.floor(available * MOST_FOR_FIRST));
  const cells = first?.cells ?? [];
  const longer = cells.filter((width) => width > limit).length;
  return longer * 2 <= cells.length ? limit : Number.POSITIVE_INFINITY;
}

/** The last column counts with what it is cut to. */
function widthOf<C>(columns: readonly Measured<C>[], longestFirst: number): number {
  return columns.reduce((sum, { header, cells, firstWords }, index) => {
    const counted = index === 0 ? cells.filter((width) => width <= longestFirst) : cells;
    const width = widest(counted, header);
    const isLast = index === columns.length - 1 && index > 0;
    return (
      sum +
      (isLast ? Math.min(width, widest(firstWords, Math.max(header, SHORTEST_LAST))) : width + GAP.length)
    );
  }, 0);
}

/** Ends before the word that does not fit. A first word that is longer stays whole. */
export function cutAtWord(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  const [first = '', ...others] = text.split(' ');
  let fitted = first;
  for (const word of others) {
    if (displayWidth(fitted) + displayWidth(word) + 3 > width) break;
    fitted = `${fitted} ${word}`;
  }
  return others.length === 0 ? first : `${fitted} …`;
}

/** Lines of whole words. A word that is longer than a line has one of its own. */
export function wrapAtWords(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && displayWidth(line) + displayWidth(word) + 1 > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
