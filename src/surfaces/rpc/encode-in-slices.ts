/**
 * Encodes an answer without keeping the event loop for long: a list of a thousand machines takes a tenth of a second as a
 * whole. Its entries are encoded some at a time, and other calls have their turn in between. Messages in binary may be
 * joined: one that repeats a list field is the same as one with the whole list.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DescField, DescMessage, JsonValue, MessageInitShape } from '@bufbuild/protobuf';
import { encodeBinary } from './codec/binary-encoder.ts';
import { encodeJson } from './codec/json-encoder.ts';

const SLICE = 100;

/** After so many bytes that the caller fills. */
export async function encodeInSlices(
  desc: DescMessage,
  answer: MessageInitShape<DescMessage>,
  headBytes = 0,
): Promise<Buffer> {
  const list = longListOf(desc, answer);
  if (list === null) return encodeBinary(desc, answer, headBytes);
  const { name, entries } = list;
  const parts = [encodeBinary(desc, { ...answer, [name]: [] }, headBytes)];
  for (let at = 0; at < entries.length; at += SLICE) {
    await nextTurn();
    parts.push(encodeBinary(desc, { [name]: entries.slice(at, at + SLICE) }));
  }
  return Buffer.concat(parts);
}

/** The same as JSON, with the fields that are false, 0 or empty: readers of JSON expect them. */
export async function jsonInSlices(
  desc: DescMessage,
  answer: MessageInitShape<DescMessage>,
): Promise<Buffer> {
  const list = longListOf(desc, answer);
  if (list === null) return Buffer.from(encodeJson(desc, answer));
  const { name, jsonName, entries, entry } = list;
  const short = JSON.parse(encodeJson(desc, { ...answer, [name]: [] })) as Record<string, JsonValue>;
  const { [jsonName]: _none, ...others } = short;
  const parts: string[] = [];
  for (let at = 0; at < entries.length; at += SLICE) {
    await nextTurn();
    for (const value of entries.slice(at, at + SLICE)) parts.push(encodeJson(entry, value));
  }
  const rest = JSON.stringify(others).slice(1);
  return Buffer.from(`{"${jsonName}":[${parts.join(',')}]${rest === '}' ? '' : ','}${rest}`);
}

/** Whether answers of this kind have a list that may be long. */
export function hasList(desc: DescMessage): boolean {
  return listOf(desc) !== null;
}

interface LongList {
  readonly name: string;
  readonly jsonName: string;
  readonly entry: DescMessage;
  readonly entries: readonly MessageInitShape<DescMessage>[];
}

/** The one list of messages that an answer has; null: it has none, or a short one. */
function longListOf(desc: DescMessage, answer: MessageInitShape<DescMessage>): LongList | null {
  const field = listOf(desc);
  const entries: unknown = field === null ? null : Reflect.get(answer, field.localName);
  if (field === null || !Array.isArray(entries) || entries.length <= SLICE) return null;
  return { name: field.localName, jsonName: field.jsonName, entry: field.message, entries };
}

type MessageList = DescField & { readonly fieldKind: 'list'; readonly listKind: 'message' };

const lists = new WeakMap<DescMessage, MessageList | null>();

function listOf(desc: DescMessage): MessageList | null {
  const known = lists.get(desc);
  if (known !== undefined) return known;
  const isList = (field: DescField): field is MessageList =>
    field.fieldKind === 'list' && field.listKind === 'message';
  const list = desc.fields.find(isList) ?? null;
  lists.set(desc, list);
  return list;
}
