/**
 * Rows as one text parameter: a line for each row, and in it a value for each column. PostgreSQL splits it in less than two thirds of the
 * time in which it reads the same as JSON (docs/decisions/0100-lines-of-rows.md).
 *
 * No value contains what separates: JSON escapes control characters, and a text that has one of these gets the replacement character,
 * as one that PostgreSQL can't store does. `exact` columns are for texts of callers, which must be found again as they were sent: they
 * travel as JSON.
 */
import { toStoredJson } from './stored-json.ts';

const LINE_END = '\x1e';
export const VALUE_END = '\x1f';
export const NO_VALUE = '\x1d';
/** These three, NUL, and unpaired surrogates. */
const UNSTORABLE = new RegExp(`[\\0${LINE_END}${VALUE_END}${NO_VALUE}\\p{Cs}]`, 'gu');
/** A first test that costs less, and that nearly every text passes: no control character, and nothing that could be half of a pair. */
const SUSPECT = /[^ -\ud7ff\ue000-\uffff]/;

const write = String;

/** How a value of a column is written, and how PostgreSQL reads it. */
const TYPES = {
  text: { write: lineText, read: (value: string) => value },
  exact: { write: toStoredJson, read: (value: string) => `(${value}::jsonb #>> '{}')` },
  jsonb: { write: toStoredJson, read: (value: string) => `${value}::jsonb` },
  integer: { write, read: (value: string) => `${value}::integer` },
  bigint: { write, read: (value: string) => `${value}::bigint` },
  float8: { write, read: (value: string) => `${value}::float8` },
  boolean: { write, read: (value: string) => `${value}::boolean` },
  timestamptz: {
    write: (value: string | Date) => (typeof value === 'string' ? value : value.toISOString()),
    read: (value: string) => `${value}::timestamptz`,
  },
} as const;

type LineType = keyof typeof TYPES;

/** Neither null nor undefined is a value: both are NULL. */
type LineRow<Columns> = { readonly [Column in keyof Columns]: unknown };

export class Lines<const Columns extends Readonly<Record<string, LineType>>> {
  readonly #columns: ReadonlyArray<readonly [name: string, type: LineType]>;

  /** In the order of the values of a line. */
  constructor(columns: Columns) {
    this.#columns = Object.entries(columns);
  }

  /** The rows of the parameter, with `n`, their order. A line is split once: OFFSET keeps the parts apart. */
  rows(parameter: string): string {
    const columns = this.#columns.map(
      ([name, type], index) => `${TYPES[type].read(`v[${index + 1}]`)} AS "${name}"`,
    );
    return `(SELECT n, ${columns.join(', ')} FROM (
      SELECT n, string_to_array(line, E'\\x1f', E'\\x1d') AS v
      FROM unnest(string_to_array(${parameter}::text, E'\\x1e')) WITH ORDINALITY AS l (line, n) OFFSET 0) AS lines)`;
  }

  /** Empty for no rows. */
  text(rows: ReadonlyArray<LineRow<Columns>>): string {
    return joinedLines(rows.map((row) => this.line(row)));
  }

  line(row: LineRow<Columns>): string {
    let line = '';
    let separator = '';
    for (const [name, type] of this.#columns) {
      const value = row[name];
      line += separator;
      line += value === null || value === undefined ? NO_VALUE : TYPES[type].write(value as string);
      separator = VALUE_END;
    }
    return line;
  }
}

/** Of lines, each of which has at least one row. */
export function joinedLines(lines: readonly string[]): string {
  return lines.join(LINE_END);
}

export function lineText(text: string): string {
  return SUSPECT.test(text) ? text.replace(UNSTORABLE, '\ufffd') : text;
}
