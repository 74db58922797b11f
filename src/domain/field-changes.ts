/**
 * Which fields differ between two records, as text for an event. Nested records give dotted names, lists are one value. Values
 * that may hold a secret are never shown, whatever the record is: the event says that they changed, not to what.
 */
import type { FieldChange } from './event.ts';

/** An event stays small, however large the change is. */
const MAX_CHANGES = 100;
const MAX_TEXT = 300;
const NOT_SHOWN = '(not shown)';
const SECRET = /secret|password|passphrase|token|user_?data|network_?config|private_?key|credential/i;

export function changesBetween(before: unknown, after: unknown): FieldChange[] {
  const found: FieldChange[] = [];
  collect('', before, after, found);
  if (found.length <= MAX_CHANGES) return found;
  const left = found.length - MAX_CHANGES;
  return [...found.slice(0, MAX_CHANGES), { field: '…', before: '', after: `${left} more fields changed` }];
}

function collect(path: string, before: unknown, after: unknown, found: FieldChange[]): void {
  if (isRecord(before) || isRecord(after)) {
    const one = isRecord(before) ? before : {};
    const other = isRecord(after) ? after : {};
    for (const name of new Set([...Object.keys(one), ...Object.keys(other)]))
      collect(path === '' ? name : `${path}.${name}`, own(one, name), own(other, name), found);
    return;
  }
  const [was, is] = [textOf(before), textOf(after)];
  if (was === is) return;
  const shown = SECRET.test(path) ? hidden : cut;
  found.push({ field: cut(path), before: shown(was), after: shown(is) });
}

function own(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function textOf(value: unknown): string {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return '';
  if (typeof value === 'string') return value;
  return value instanceof Date ? value.toISOString() : JSON.stringify(value, sortedKeys);
}

/** The database stores the keys of records in an order of its own, which is no change. */
function sortedKeys(_key: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function hidden(text: string): string {
  return text === '' ? '' : NOT_SHOWN;
}

/** Ends with a mark, and never in the middle of a character. */
function cut(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return `${text.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '')}…`;
}
