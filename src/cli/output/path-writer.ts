/** `-o custom-columns=NAME:.path,…` and `-o jsonpath={.path}{"\\t"}{.path}`. */
import type { JsonValue } from '@bufbuild/protobuf';
import { UsageError } from '../errors/usage-error.ts';
import { parsePath, valuesAt, valueText } from './json-path.ts';
import { plainText } from './plain-text.ts';
import { type Column, Table } from './table.ts';
import type { TextSink } from './text-sink.ts';

interface PathWriter {
  write(sink: TextSink, items: readonly JsonValue[]): void;
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

/** Texts in quotes are written as they are, with the escapes of JSON; each item is a line. */
function jsonPath(text: string): PathWriter {
  const template = text.includes('{') ? text : `{${text}}`;
  const parts = [...template.matchAll(/\{([^}]*)\}|([^{]+)/g)].map(([, inBraces, literal]) => {
    if (inBraces === undefined) return () => literal ?? '';
    if (inBraces.startsWith('"')) return constant(inBraces);
    const path = parsePath(inBraces, '-o jsonpath');
    return (item: JsonValue) => valuesAt(item, path).map(valueText).map(plainText).join(' ');
  });
  return {
    write(sink, items) {
      for (const item of items) sink.line(parts.map((part) => part(item)).join(''));
    },
  };
}

function constant(quoted: string): () => string {
  try {
    const text = String(JSON.parse(quoted));
    return () => text;
  } catch {
    throw new UsageError(`-o jsonpath: ${quoted} is not a text in quotes`);
  }
}
