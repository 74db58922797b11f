/**
 * Paths into JSON, as `-o jsonpath` and `-o custom-columns` take them, and as kubectl does: .status.conditions[0].type,
 * .labels['rack/unit'], [*] for every element or value, ..name for every field of that name below, and
 * [?(@.type=="Reachable")] for the elements that it holds for. A path that leads nowhere has no values.
 */
import type { JsonValue } from '@bufbuild/protobuf';
import { UsageError } from '../errors/usage-error.ts';

type Part =
  | { readonly key: string }
  | { readonly index: number }
  | { readonly deep: string }
  | { readonly path: JsonPath; readonly comparison: Comparison | undefined; readonly value: JsonValue }
  | 'every';
export type JsonPath = readonly Part[];

const COMPARISONS = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<=': (left, right) => left <= right,
  '>=': (left, right) => left >= right,
  '<': (left, right) => left < right,
  '>': (left, right) => left > right,
} as const satisfies Record<string, (left: string | number, right: string | number) => boolean>;
type Comparison = keyof typeof COMPARISONS;

const PART =
  /\.\.([A-Za-z_][\w-]*)|\.([A-Za-z_][\w-]*)|\[(-?\d+)\]|\[\*\]|\['([^']*)'\]|\["([^"]*)"\]|\[\?\(\s*@((?:[^"'=!<>)]|\['[^']*'\])*?)\s*(?:(==|!=|<=|>=|<|>)\s*("[^"]*"|'[^']*'|[-\w.]+)\s*)?\)\]/y;

/** `option` names the source of the path in the error. */
export function parsePath(text: string, option: string): JsonPath {
  const path = text.trim().replace(/^[$@]/, '');
  const parts: Part[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < path.length) {
    const at = PART.lastIndex;
    const match = path === '.' ? null : PART.exec(path);
    if (match === null)
      throw new UsageError(
        `${option}: "${text}" is not a path such as .status.conditions[0].type (at ${at + 1})`,
      );
    const end = PART.lastIndex;
    parts.push(partOf(match, option));
    PART.lastIndex = end;
  }
  return parts;
}

function partOf(match: RegExpExecArray, option: string): Part {
  const [, deep, name, index, quoted, doubleQuoted, tested, comparison, value = ''] = match;
  const key = name ?? quoted ?? doubleQuoted;
  if (deep !== undefined) return { deep };
  if (key !== undefined) return { key };
  if (index !== undefined) return { index: Number(index) };
  if (tested === undefined) return 'every';
  return {
    path: parsePath(tested, option),
    comparison: comparison as Comparison | undefined,
    value: /^["']/.test(value) ? value.slice(1, -1) : value,
  };
}

export function valuesAt(value: JsonValue, path: JsonPath): JsonValue[] {
  return path.reduce<JsonValue[]>((values, part) => values.flatMap((each) => step(each, part)), [value]);
}

function step(value: JsonValue, part: Part): JsonValue[] {
  if (value === null || typeof value !== 'object') return [];
  if (part === 'every') return Object.values(value);
  if ('deep' in part) return below(value, part.deep);
  if ('path' in part) return Object.values(value).filter((each) => holds(each, part));
  const found = Array.isArray(value)
    ? 'index' in part
      ? value.at(part.index)
      : undefined
    : 'key' in part && Object.hasOwn(value, part.key)
      ? value[part.key]
      : undefined;
  return found === undefined ? [] : [found];
}

function below(value: JsonValue, key: string): JsonValue[] {
  if (value === null || typeof value !== 'object') return [];
  const own = !Array.isArray(value) && Object.hasOwn(value, key) ? [value[key] as JsonValue] : [];
  return [...own, ...Object.values(value).flatMap((each) => below(each, key))];
}

/** As texts; as numbers where both are. Without a comparison, that there is a value. */
function holds(item: JsonValue, { path, comparison, value }: Extract<Part, { path: JsonPath }>): boolean {
  const [found] = valuesAt(item, path);
  if (found === undefined) return false;
  if (comparison === undefined) return true;
  const [left, right] = [valueText(found), valueText(value)];
  const areNumbers = [left, right].every((text) => text !== '' && !Number.isNaN(Number(text)));
  const compare = COMPARISONS[comparison];
  return areNumbers ? compare(Number(left), Number(right)) : compare(left, right);
}

export function valueText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
