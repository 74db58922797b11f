import type { Colour } from './colour.ts';
import { displayWidth, padEnd, plainText } from './plain-text.ts';
import type { TextSink } from './text-sink.ts';

export interface Column<T> {
  readonly header: string;
  readonly minWidth?: number;
  readonly cell: (item: T) => string;
  readonly colour?: (item: T) => Colour | undefined;
  /** Where the table is wider than the terminal, columns go from the last to the first; those with this go after all others. */
  readonly stays?: 'longest';
}

const GAP = '  ';

/**
 * A table that is written page by page: the header once, and columns that become wider with a later page. On a terminal it fits: the
 * columns that matter least go, and the last one ends at a word. What a program reads has every column.
 */
export class Table<T> {
  readonly #sink: TextSink;
  readonly #fit: 'terminal' | 'whole';
  #columns: readonly Column<T>[];
  #widths: number[];
  #hasHeader = false;

  constructor(sink: TextSink, columns: readonly Column<T>[], fit: 'terminal' | 'whole' = 'terminal') {
    this.#sink = sink;
    this.#fit = fit;
    this.#columns = columns;
    this.#widths = columns.map((column) => Math.max(column.minWidth ?? 0, displayWidth(column.header)));
  }

  write(items: readonly T[]): void {
    if (!this.#hasHeader) this.#dropColumns(items);
    const rows = items.map((item) => this.#columns.map((column) => cellText(column, item)));
    for (const row of rows) {
      for (const [i, cell] of row.entries()) {
        this.#widths[i] = Math.max(this.#widths[i] ?? 0, displayWidth(cell));
      }
    }
    if (!this.#hasHeader) this.#sink.line(this.#row(this.#columns.map((column) => column.header)));
    this.#hasHeader = true;
    for (const [i, item] of items.entries()) this.#sink.line(this.#row(rows[i] ?? [], item));
  }

  #row(cells: readonly string[], item?: T): string {
    return cells
      .map((cell, i) => {
        const isLast = i === cells.length - 1;
        const text = isLast ? this.#lastCell(cell) : padEnd(cell, this.#widths[i] ?? 0);
        const colour = item === undefined ? undefined : this.#columns[i]?.colour?.(item);
        return this.#sink.colour(text, colour);
      })
      .join(GAP);
  }

  /** Decided by the first page: later pages have the same columns. */
  #dropColumns(items: readonly T[]): void {
    if (this.#fit === 'whole' || !this.#sink.isTerminal) return;
    const widthOf = (column: Column<T>): number =>
      items.reduce(
        (widest, item) => Math.max(widest, displayWidth(cellText(column, item))),
        Math.max(column.minWidth ?? 0, displayWidth(column.header)),
      );
    const widths = new Map(this.#columns.map((column) => [column, widthOf(column)]));
    this.#columns = fitting(this.#columns, widths, this.#sink.columns);
    this.#widths = this.#columns.map((column) => Math.max(column.minWidth ?? 0, displayWidth(column.header)));
  }

  #lastCell(cell: string): string {
    if (this.#fit === 'whole' || !this.#sink.isTerminal) return cell;
    const before = this.#widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
    return cutAtWord(cell, Math.max(SHORTEST_LAST, this.#sink.columns - before));
  }
}

/** A last column that is cut shorter says nothing. */
const SHORTEST_LAST = 24;

function cellText<T>(column: Column<T>, item: T): string {
  return plainText(column.cell(item)) || '-';
}

/** The first column always stays. The last one counts with what it is cut to. */
function fitting<T>(
  columns: readonly Column<T>[],
  widths: ReadonlyMap<Column<T>, number>,
  available: number,
): readonly Column<T>[] {
  const total = columns.reduce((sum, column, index) => {
    const width = widths.get(column) ?? 0;
    const isLast = index === columns.length - 1 && index > 0;
    return sum + (isLast ? Math.min(width, SHORTEST_LAST) : width + GAP.length);
  }, 0);
  if (total <= available || columns.length <= 1) return columns;
  const droppable = columns.slice(1);
  const least = droppable.findLast(({ stays }) => stays === undefined) ?? droppable.at(-1);
  return fitting(
    columns.filter((column) => column !== least),
    widths,
    available,
  );
}

/** Ends before the word that does not fit. A first word that is longer stays whole. */
function cutAtWord(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  const [first = '', ...others] = text.split(' ');
  let fitted = first;
  for (const word of others) {
    if (displayWidth(fitted) + displayWidth(word) + 3 > width) break;
    fitted = `${fitted} ${word}`;
  }
  return `${fitted} …`;
}
