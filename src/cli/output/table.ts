import type { Colour } from './colour.ts';
import { displayWidth, padEnd, plainText } from './plain-text.ts';
import type { TextSink } from './text-sink.ts';

export interface Column<T> {
  readonly header: string;
  readonly minWidth?: number;
  readonly cell: (item: T) => string;
  readonly colour?: (item: T) => Colour | undefined;
}

const GAP = '  ';

/** A table that is written page by page: the header once, and columns that become wider with a later page. */
export class Table<T> {
  readonly #sink: TextSink;
  readonly #columns: readonly Column<T>[];
  readonly #widths: number[];
  #hasHeader = false;

  constructor(sink: TextSink, columns: readonly Column<T>[]) {
    this.#sink = sink;
    this.#columns = columns;
    this.#widths = columns.map((column) => Math.max(column.minWidth ?? 0, displayWidth(column.header)));
  }

  write(items: readonly T[]): void {
    const rows = items.map((item) => this.#columns.map((column) => plainText(column.cell(item)) || '-'));
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
        const text = isLast ? cell : padEnd(cell, this.#widths[i] ?? 0);
        const colour = item === undefined ? undefined : this.#columns[i]?.colour?.(item);
        return this.#sink.colour(text, colour);
      })
      .join(GAP);
  }
}
