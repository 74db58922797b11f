/**
 * The output formats. In every format data, and only data, goes to stdout, so that `-o json` can be piped.
 */
import { type DescMessage, type JsonValue, type MessageShape, toJson } from '@bufbuild/protobuf';
import { pathWriter } from './path-writer.ts';
import { plainJson, plainText } from './plain-text.ts';
import { type Column, Table } from './table.ts';
import { chosenColumns, limited, sortColumn, sorted } from './table-choice.ts';
import type { TextSink } from './text-sink.ts';
import { yamlText } from './yaml-text.ts';

export const OUTPUT_FORMATS = ['table', 'wide', 'json', 'jsonl', 'yaml', 'name'] as const;
/** Paths into the JSON of each item (json-path.ts). */
export const PATH_FORMATS = ['custom-columns=', 'jsonpath='] as const;
type PathFormat = `${(typeof PATH_FORMATS)[number]}${string}`;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number] | PathFormat;

/** What `--columns` and `--sort` ask for. */
export interface TableChoice {
  /** The names of columns, those of -o wide too. */
  readonly columns?: readonly string[] | undefined;
  /** The name of a column; with "-" before it, the largest first. */
  readonly sort?: string | undefined;
  /** Of the sorted items. */
  readonly limit?: number | undefined;
}

/** How items of one type are written in each format. */
export interface Rendering<T> {
  readonly json: (item: T) => JsonValue;
  readonly name: (item: T) => string;
  readonly columns: readonly Column<T>[];
  readonly wideColumns: readonly Column<T>[];
  /** Only where `--columns` or `--sort` names them. */
  readonly furtherColumns?: readonly Column<T>[];
}

export function isForPeople(format: OutputFormat): format is 'table' | 'wide' {
  return format === 'table' || format === 'wide';
}

export function jsonOf<D extends DescMessage>(schema: D, item: MessageShape<D>): JsonValue {
  // With all fields, so that a script can distinguish false from a misspelled name.
  return toJson(schema, item, { useProtoFieldName: true, alwaysEmitImplicit: true });
}

export function jsonText(value: unknown): string {
  return plainJson(JSON.stringify(value, null, 2));
}

export function jsonLine(value: unknown): string {
  return plainJson(JSON.stringify(value));
}

/** Writes the pages of a list and returns the number of items. JSON and YAML are written complete or not at all. */
export async function writeList<T>(
  sink: TextSink,
  format: OutputFormat,
  rendering: Rendering<T>,
  unsorted: AsyncIterable<readonly T[]> | Iterable<readonly T[]>,
  choice: TableChoice = {},
): Promise<number> {
  const columns = chosenColumns(rendering, format, choice);
  const table = new Table(sink, columns, format === 'wide' || choice.columns ? 'whole' : 'terminal');
  const ordered = choice.sort === undefined ? unsorted : sorted(unsorted, sortColumn(rendering, choice.sort));
  const pages = choice.limit === undefined ? ordered : limited(ordered, choice.limit);
  const byPath = pathWriter(format);
  const whole: JsonValue[] = [];
  let count = 0;
  for await (const items of pages) {
    count += items.length;
    if (byPath !== null) {
      byPath.write(sink, items.map(rendering.json));
      await sink.drained();
      continue;
    }
    switch (format) {
      case 'table':
      case 'wide':
        if (items.length > 0) table.write(items);
        break;
      case 'jsonl':
        for (const item of items) sink.line(jsonLine(rendering.json(item)));
        break;
      case 'name':
        for (const item of items) sink.line(plainText(rendering.name(item)));
        break;
      case 'json':
      case 'yaml':
        for (const item of items) whole.push(rendering.json(item));
        break;
    }
    await sink.drained();
  }
  byPath?.end?.(sink);
  if (format === 'json') sink.line(jsonText(whole));
  if (format === 'yaml') sink.write(yamlText(whole));
  return count;
}

/** Writes one item; in the formats for people with `detail`. */
export function writeOne<T>(
  sink: TextSink,
  format: OutputFormat,
  rendering: Rendering<T>,
  item: T,
  detail: () => void,
): void {
  pathWriter(format)?.write(sink, [rendering.json(item)]);
  switch (format) {
    case 'table':
    case 'wide':
      detail();
      break;
    case 'json':
      sink.line(jsonText(rendering.json(item)));
      break;
    case 'jsonl':
      sink.line(jsonLine(rendering.json(item)));
      break;
    case 'yaml':
      sink.write(yamlText(rendering.json(item)));
      break;
    case 'name':
      sink.line(plainText(rendering.name(item)));
      break;
  }
}

/** Writes one item of an endless stream: JSON one per line, YAML one per document. */
export function writeStreamed<T>(
  sink: TextSink,
  format: OutputFormat,
  rendering: Pick<Rendering<T>, 'json' | 'name'>,
  item: T,
  line: () => string,
): void {
  pathWriter(format)?.write(sink, [rendering.json(item)]);
  switch (format) {
    case 'table':
    case 'wide':
      sink.line(line());
      break;
    case 'json':
    case 'jsonl':
      sink.line(jsonLine(rendering.json(item)));
      break;
    case 'yaml':
      sink.write(`---\n${yamlText(rendering.json(item))}`);
      break;
    case 'name':
      sink.line(plainText(rendering.name(item)));
      break;
  }
}
