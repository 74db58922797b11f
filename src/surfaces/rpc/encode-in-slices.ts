/**
 * Encodes an answer without keeping the event loop for long: a list of a thousand machines takes a tenth of a second as a
 * whole. Its entries are encoded some at a time, and other calls have their turn in between. Messages in binary may be
 * joined: one that repeats a list field is the same as one with the whole list.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type DescField,
  type DescMessage,
  type JsonValue,
  type MessageInitShape,
  ScalarType,
} from '@bufbuild/protobuf';
import { encodeBinary } from './codec/binary-encoder.ts';
import { encodeJson } from './codec/json-encoder.ts';

const SLICE = 100;
const TEXTS_IN_SLICE = 5_000;

/** After so many bytes that the caller fills. At once where the answer is short. */
export function encodeInSlices(
  desc: DescMessage,
  answer: MessageInitShape<DescMessage>,
  headBytes = 0,
): Buffer | Promise<Buffer> {
  const texts = longTextsOf(desc, answer);
  if (texts !== null) return encodeTexts(desc, answer, { ...texts, headBytes });
  const list = longListOf(desc, answer);
  return list === null
    ? encodeBinary(desc, answer, headBytes)
    : encodeList(desc, answer, { ...list, headBytes });
}

async function encodeList(
  desc: DescMessage,
  answer: MessageInitShape<DescMessage>,
  { name, entries, headBytes }: LongList & { readonly headBytes: number },
): Promise<Buffer> {
  const parts = [encodeBinary(desc, { ...answer, [name]: [] }, headBytes)];
  for (let at = 0; at < entries.length; at += SLICE) {
    await nextTurn();
    parts.push(encodeBinary(desc, { [name]: entries.slice(at, at + SLICE) }));
  }
  return Buffer.concat(parts);
}

/** The same as JSON, with the fields that are false, 0 or empty: readers of JSON expect them. */
export function jsonInSlices(
  desc: DescMessage,
  answer: MessageInitShape<DescMessage>,
): string | Promise<string> {
  const list = longListOf(desc, answer);
  return list === null ? jsonWithTexts(desc, answer) : jsonOfList(desc, answer, list);
}

async function jsonOfList(
  desc: DescMessage,
  answer: MessageInitShape<DescMessage>,
  { name, jsonName, entries, entry }: LongList,
): Promise<string> {
  const short = JSON.parse(jsonWithTexts(desc, { ...answer, [name]: [] })) as Record<string, JsonValue>;
  const { [jsonName]: _none, ...others } = short;
  const parts: string[] = [];
  for (let at = 0; at < entries.length; at += SLICE) {
    await nextTurn();
    for (const value of entries.slice(at, at + SLICE)) parts.push(encodeJson(entry, value));
  }
  const rest = JSON.stringify(others).slice(1);
  return `{"${jsonName}":[${parts.join(',')}]${rest === '}' ? '' : ','}${rest}`;
}

async function encodeTexts(
  desc: DescMessage,
  answer: MessageInitShape<DescMessage>,
  { outer, inner, message, texts, headBytes }: LongTexts & { readonly headBytes: number },
): Promise<Buffer> {
  const rest = { ...answer, [outer.localName]: { ...message, [inner.localName]: [] } };
  const parts = [await encodeInSlices(desc, rest, headBytes)];
  for (let at = 0; at < texts.length; at += TEXTS_IN_SLICE) {
    await nextTurn();
    const slice = { [inner.localName]: texts.slice(at, at + TEXTS_IN_SLICE) };
    parts.push(encodeBinary(desc, { [outer.localName]: slice }));
  }
  return Buffer.concat(parts);
}

/** Texts are the same in JSON as they are: they need not go through the encoder. */
function jsonWithTexts(desc: DescMessage, answer: MessageInitShape<DescMessage>): string {
  const long = longTextsOf(desc, answer);
  if (long === null) return encodeJson(desc, answer);
  const { outer, inner, message, texts } = long;
  const rest = { ...answer, [outer.localName]: { ...message, [inner.localName]: [] } };
  const value = JSON.parse(encodeJson(desc, rest)) as Record<string, JsonValue>;
  return JSON.stringify({
    ...value,
    [outer.jsonName]: { ...(value[outer.jsonName] as object), [inner.jsonName]: texts },
  });
}

interface LongTexts extends TextsField {
  readonly message: object;
  readonly texts: readonly string[];
}

interface TextsField {
  readonly outer: DescField;
  readonly inner: DescField;
}

/** A long list of texts in a message of the answer, such as the ids in the spec of a rollout; null: it has none. */
function longTextsOf(desc: DescMessage, answer: MessageInitShape<DescMessage>): LongTexts | null {
  for (const { outer, inner } of textsOf(desc)) {
    const message: unknown = Reflect.get(answer, outer.localName);
    if (typeof message !== 'object' || message === null) continue;
    const texts: unknown = Reflect.get(message, inner.localName);
    if (Array.isArray(texts) && texts.length > TEXTS_IN_SLICE) return { outer, inner, message, texts };
  }
  return null;
}

const textsFields = new WeakMap<DescMessage, readonly TextsField[]>();

function textsOf(desc: DescMessage): readonly TextsField[] {
  const known = textsFields.get(desc);
  if (known) return known;
  const found = desc.fields.flatMap((outer) =>
    outer.fieldKind !== 'message' || outer.oneof
      ? []
      : outer.message.fields.filter(isTexts).map((inner) => ({ outer, inner })),
  );
  textsFields.set(desc, found);
  return found;
}

const isTexts = (field: DescField) =>
  field.fieldKind === 'list' && field.listKind === 'scalar' && field.scalar === ScalarType.STRING;

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
