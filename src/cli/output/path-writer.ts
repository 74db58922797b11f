/** `-o custom-columns=NAME:.path,…` and `-o jsonpath={.path}{"\\t"}{.path}` (json-template.ts). */
import type { JsonValue } from '@bufbuild/protobuf';
import { UsageError } from '../errors/usage-error.ts';
import { parsePath, valuesAt, valueText } from './json-path.ts';
import { jsonTemplate } from './json-template.ts';
import { type Column, Table } from './table.ts';
import type { TextSink } from './text-sink.ts';

interface PathWriter {
  write(sink: TextSink, items: readonly JsonValue[]): void;
  /** After the last item. */
  end?(sink: TextSink): void;
}

/** Null for a format without paths. Throws where the paths are wrong. */
export function pathWriter(format: string): PathWriter | null {
  const [name = '', ...rest] = format.split('=');
  if (name === 'custom-columns') return customColumns(rest.join('='));
  if (name === 'jsonpath') return jsonPath(rest.join('='));
  return null;
}

function customColumns(text: string): PathWriter {
  const columns: Column<JsonValue>[] = text.split(',').map((each) => {
    const [header = '', ...rest] = each.split(':');
    if (header === '' || rest.length === 0)
      throw new UsageError(`-o custom-columns: "${each}" is not NAME:.path`);
    const path = parsePath(rest.join(':'), '-o custom-columns');
    return { header, cell: (item) => valuesAt(item, path).map(valueText).join(',') };
  });
  let table: Table<JsonValue> | undefined;
  return {
    write(sink, items) {
      table ??= new Table(sink, columns, 'whole');
      if (items.length > 0) table.write(items);
    },
  };
}

function jsonPath(text: string): PathWriter {
  const template = jsonTemplate(text);
  const write = (sink: TextSink, value: JsonValue): void => {
    const line = template.write(value);
    sink.write(line.endsWith('\n') ? line : `${line}\n`);
  };
  const whole: JsonValue[] = [];
  return {
    write(sink, items) {
      if (template.isForWholeList) whole.push(...items);
      else for (const item of items) write(sink, item);
    },
    end(sink) {
      if (template.isForWholeList) write(sink, { items: whole });
    },
  };
}
