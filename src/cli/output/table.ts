import type { Colour } from './colour.ts';
import { displayWidth, padEnd, plainText } from './plain-text.ts';
import { cutAtWord, fitting, GAP, type Measured, SHORTEST_LAST, wrapAtWords } from './table-fit.ts';
import type { TextSink } from './text-sink.ts';

export interface Column<T> {
  readonly header: string;
  readonly minWidth?: number;
  readonly cell: (item: T) => string;
  readonly colour?: (item: T) => Colour | undefined;
  /** Where the table is wider than the terminal, columns without it go first (table-fit.ts). */
  readonly stays?: 'longest';
}

/** Of the last column, `terminal` shows the words that fit, and `wrapped` all of them, on more lines. */
type Fit = 'terminal' | 'wrapped' | 'whole';

/**
 * A table that is written page by page: the header once, and columns that become wider with a later page. On a terminal it fits: the
 * columns that matter least go, an id that is much longer than the others has a line of its own, and the last column ends at a word.
 * What a program reads has every column.
 */
export class Table<T> {
  readonly #sink: TextSink;
  readonly #fit: Fit;
  #columns: readonly Column<T>[];
  #widths: number[];
  /** A first cell that is longer is followed by a line break. */
  #longestFirst = Number.POSITIVE_INFINITY;
  #hasHeader = false;

  constructor(sink: TextSink, columns: readonly Column<T>[], fit: Fit = 'terminal') {
    this.#sink = sink;
    this.#fit = fit;
    this.#columns = columns;
    this.#widths = columns.map(headerWidth);
  }

  write(items: readonly T[]): void {
    if (!this.#hasHeader && this.#isFitted) this.#fitColumns(items);
    const rows = items.map((item) => this.#columns.map((column) => cellText(column, item)));
    for (const row of rows) {
      for (const [i, cell] of row.entries()) {
        const width = displayWidth(cell);
        if (i > 0 || width <= this.#longestFirst) this.#widths[i] = Math.max(this.#widths[i] ?? 0, width);
      }
    }
    if (!this.#hasHeader) this.#sink.line(this.#row(this.#columns.map((column) => column.header)));
    this.#hasHeader = true;
    for (const [i, item] of items.entries()) this.#sink.line(this.#row(rows[i] ?? [], item));
  }

  get #isFitted(): boolean {
    return this.#fit !== 'whole' && this.#sink.isTerminal;
  }

  #row(cells: readonly string[], item?: T): string {
    const painted = cells.map((cell, i) => {
      const isLast = i === cells.length - 1;
      const text = isLast ? this.#lastCell(cell) : padEnd(cell, this.#widths[i] ?? 0);
      const colour = item === undefined ? undefined : this.#columns[i]?.colour?.(item);
      return this.#sink.colour(text, colour);
    });
    const [first = '', ...others] = painted;
    if (others.length === 0 || displayWidth(cells[0] ?? '') <= this.#longestFirst) return painted.join(GAP);
    return `${first}\n${[' '.repeat(this.#widths[0] ?? 0), ...others].join(GAP)}`;
  }

  /** Decided by the first page: later pages have the same columns. */
  #fitColumns(items: readonly T[]): void {
    const measured = this.#columns.map((column) => measure(column, items));
    const fitted = fitting(measured, this.#sink.columns);
    this.#columns = fitted.columns;
    this.#longestFirst = fitted.longestFirst;
    this.#widths = this.#columns.map(headerWidth);
  }

  #lastCell(cell: string): string {
    if (!this.#isFitted) return cell;
    const before = this.#widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
    const width = Math.max(SHORTEST_LAST, this.#sink.columns - before);
    if (this.#fit === 'terminal') return cutAtWord(cell, width);
    return wrapAtWords(cell, width).join(`\n${' '.repeat(before)}`);
  }
}

function cellText<T>(column: Column<T>, item: T): string {
  return plainText(column.cell(item)) || '-';
}

function headerWidth<T>({ minWidth = 0, header }: Column<T>): number {
  return Math.max(minWidth, displayWidth(header));
}

function measure<T>(column: Column<T>, items: readonly T[]): Measured<Column<T>> {
  const texts = items.map((item) => cellText(column, item));
  return {
    column,
    header: headerWidth(column),
    cells: texts.map(displayWidth),
    firstWords: texts.map(firstWordWidth),
    isEmpty: texts.every((text) => text === '-'),
    isEssential: column.stays === 'longest',
  };
}

/** With the ellipsis, where more words follow. */
function firstWordWidth(text: string): number {
  const [first = ''] = text.split(' ');
  return displayWidth(first) + (first === text ? 0 : 2);
}
