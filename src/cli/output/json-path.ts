/**
 * Paths into JSON, as `-o jsonpath` and `-o custom-columns` take them: .status.conditions[0].type, .labels['rack/unit'], and [*]
 * for every element or value. A path that leads nowhere has no values.
 */
import type { JsonValue } from '@bufbuild/protobuf';
import { UsageError } from '../errors/usage-error.ts';

type Part = { readonly key: string } | { readonly index: number } | 'every';
export type JsonPath = readonly Part[];

const PART = /\.([A-Za-z_][\w-]*)|\[(-?\d+)\]|\[\*\]|\['([^']*)'\]|\["([^"]*)"\]/y;

/** `option` names the source of the path in the error. */
export function parsePath(text: string, option: string): JsonPath {
  const path = text.trim().replace(/^\$/, '');
  const parts: Part[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < path.length) {
    const at = PART.lastIndex;
    const match = PART.exec(path);
    if (match === null || path === '.')
      throw new UsageError(
        `${option}: "${text}" is not a path such as .status.conditions[0].type (at ${at + 1})`,
      );
    const [, name, index, quoted, doubleQuoted] = match;
    const key = name ?? quoted ?? doubleQuoted;
    if (key !== undefined) parts.push({ key });
    else parts.push(index === undefined ? 'every' : { index: Number(index) });
  }
  return parts;
}

export function valuesAt(value: JsonValue, path: JsonPath): JsonValue[] {
  return path.reduce<JsonValue[]>((values, part) => values.flatMap((each) => step(each, part)), [value]);
}

function step(value: JsonValue, part: Part): JsonValue[] {
  if (value === null || typeof value !== 'object') return [];
  if (part === 'every') return Object.values(value);
  const found = Array.isArray(value)
    ? 'index' in part
      ? value.at(part.index)
      : undefined
    : 'key' in part && Object.hasOwn(value, part.key)
      ? value[part.key]
      : undefined;
  return found === undefined ? [] : [found];
}

export function valueText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
