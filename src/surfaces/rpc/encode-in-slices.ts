/**
 * Encodes an answer without keeping the event loop for long: a list of a thousand machines takes a tenth of a second as a
 * whole. Its entries are encoded some at a time, and other calls have their turn in between. Messages in binary may be
 * joined: one that repeats a list field is the same as one with the whole list.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  create,
  type DescField,
  type DescMessage,
  type JsonValue,
  type MessageInitShape,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';

const SLICE = 50;

export async function encodeInSlices(
  desc: DescMessage,
  answer: MessageInitShape<DescMessage>,
): Promise<Buffer> {
  const list = longListOf(desc, answer);
  if (list === null) return encoded(desc, answer);
  const { name, entries } = list;
  const parts = [encoded(desc, { ...answer, [name]: [] })];
  for (let at = 0; at < entries.length; at += SLICE) {
    await nextTurn();
    parts.push(encoded(desc, { [name]: entries.slice(at, at + SLICE) }));
  }
  return Buffer.concat(parts);
}

/** The same as JSON, with the fields that are false, 0 or empty: readers of JSON expect them. */
export async function jsonInSlices(
  desc: DescMessage,
  answer: MessageInitShape<DescMessage>,
): Promise<Buffer> {
  const list = longListOf(desc, answer);
  if (list === null) return Buffer.from(JSON.stringify(asJson(desc, answer)));
  const { name, jsonName, entries } = list;
  const { [jsonName]: _none, ...others } = asJson(desc, { ...answer, [name]: [] });
  const parts: string[] = [];
  for (let at = 0; at < entries.length; at += SLICE) {
    await nextTurn();
    const slice = asJson(desc, { [name]: entries.slice(at, at + SLICE) })[jsonName];
    parts.push(JSON.stringify(slice).slice(1, -1));
  }
  const rest = JSON.stringify(others).slice(1);
  return Buffer.from(`{"${jsonName}":[${parts.join(',')}]${rest === '}' ? '' : ','}${rest}`);
}

function asJson(
  desc: DescMessage,
  answer: MessageInitShape<DescMessage>,
): Readonly<Record<string, JsonValue>> {
  return toJson(desc, create(desc, answer), { alwaysEmitImplicit: true }) as Record<string, JsonValue>;
}

/** Whether answers of this kind have a list that may be long. */
export function hasList(desc: DescMessage): boolean {
  return listOf(desc) !== null;
}

function encoded(desc: DescMessage, answer: MessageInitShape<DescMessage>): Buffer {
  return Buffer.from(toBinary(desc, create(desc, answer)));
}

interface LongList {
  readonly name: string;
  readonly jsonName: string;
  readonly entries: readonly unknown[];
}

/** The one list of messages that an answer has; null: it has none, or a short one. */
function longListOf(desc: DescMessage, answer: MessageInitShape<DescMessage>): LongList | null {
  const field = listOf(desc);
  const entries: unknown = field === null ? null : Reflect.get(answer, field.localName);
  if (field === null || !Array.isArray(entries) || entries.length <= SLICE) return null;
  return { name: field.localName, jsonName: field.jsonName, entries };
}

const lists = new WeakMap<DescMessage, DescField | null>();

function listOf(desc: DescMessage): DescField | null {
  const known = lists.get(desc);
  if (known !== undefined) return known;
  const isList = (field: DescField) => field.fieldKind === 'list' && field.listKind === 'message';
  const list = desc.fields.find(isList) ?? null;
  lists.set(desc, list);
  return list;
}
