/**
 * Decodes calls that may name every machine of a fleet, and other long ones. The decoder takes tens of milliseconds for 100,000 ids, so it gets a few
 * thousand at a time, and other calls have their turn in between. A message may be cut between any two fields: the decoder adds what
 * follows to what it has, for a list and for a message within the message, and so the result is the same.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  create,
  type DescMessage,
  type DescMethod,
  type JsonValue,
  type MessageShape,
  mergeFromBinary,
  mergeFromJson,
} from '@bufbuild/protobuf';
import { Fault } from '../../domain/error/fault.ts';
import { checkBinary, maxBytesOf, requestTooLarge } from '../limits/message-limits.ts';
import { readVarint } from '../limits/wire-fields.ts';
import { malformedText } from './decode-failure.ts';
import { numbersAsTexts, takesNumberTexts } from './number-texts.ts';

const FIELDS_IN_SLICE = 5_000;
/** A message within the message is cut only where it is long. */
const LONG_BYTES = 64 * 1024;

type Message = MessageShape<DescMessage>;

export async function binaryInSlices(method: DescMethod, bytes: Uint8Array): Promise<Message> {
  const maxBytes = maxBytesOf(method);
  if (bytes.length > maxBytes) throw requestTooLarge(maxBytes);
  // Putting the message together was the turn before.
  await nextTurn();
  checkBinary(method, bytes);
  return checkedBinaryInSlices(method, bytes);
}

/** Of a message whose size and fields were checked. */
export async function checkedBinaryInSlices(method: DescMethod, bytes: Uint8Array): Promise<Message> {
  await nextTurn();
  return merged(method, binarySlices(method.input, bytes), (message, slice) =>
    mergeFromBinary(method.input, message, slice),
  );
}

/** Of a text whose size was checked. */
export async function jsonMessageInSlices(method: DescMethod, text: Uint8Array): Promise<Message> {
  // The check of its values was the turn before.
  await nextTurn();
  let written: JsonValue;
  try {
    // A view, not a copy.
    written = JSON.parse(Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString('utf8'));
  } catch (error) {
    throw malformed(method, error);
  }
  await nextTurn();
  const value = takesNumberTexts(method) ? (numbersAsTexts(method.input, written) as JsonValue) : written;
  return merged(method, jsonSlices(method.input, value), (message, slice) =>
    mergeFromJson(method.input, message, slice),
  );
}

async function merged<Slice>(
  method: DescMethod,
  slices: Iterable<Slice>,
  merge: (message: Message, slice: Slice) => Message,
): Promise<Message> {
  let message: Message = create(method.input);
  for (const slice of slices) {
    await nextTurn();
    try {
      message = merge(message, slice);
    } catch (error) {
      throw malformed(method, error);
    }
  }
  return message;
}

function malformed(method: DescMethod, error: unknown): Fault {
  const words = error instanceof Error ? error.message : '';
  return new Fault('MALFORMED_MESSAGE', { message: malformedText(method, words), context: error });
}

/** What is no field ends the last slice, for the decoder to refuse. */
function* binarySlices(desc: DescMessage, bytes: Uint8Array): Generator<Uint8Array> {
  let [start, at, fields] = [0, 0, 0];
  while (at < bytes.length) {
    const field = fieldAt(bytes, at);
    if (field === null) break;
    const inner = field.end - field.content > LONG_BYTES ? messageOf(desc, field.number) : null;
    if (inner !== null) {
      if (at > start) yield bytes.subarray(start, at);
      for (const slice of binarySlices(inner, bytes.subarray(field.content, field.end)))
        yield Buffer.concat([bytes.subarray(at, field.tagEnd), varint(slice.length), slice]);
      [start, at, fields] = [field.end, field.end, 0];
      continue;
    }
    at = field.end;
    fields += 1;
    if (fields < FIELDS_IN_SLICE) continue;
    yield bytes.subarray(start, at);
    [start, fields] = [at, 0];
  }
  if (start < bytes.length) yield bytes.subarray(start);
}

interface WireField {
  readonly number: number;
  readonly tagEnd: number;
  /** Where its content starts, after the length. */
  readonly content: number;
  readonly end: number;
}

/** Null: cut off, or of a kind that no message of ours has. */
function fieldAt(bytes: Uint8Array, at: number): WireField | null {
  const tag = readVarint(bytes, at, bytes.length);
  const number = tag.value >>> 3;
  const sized = (content: number, size: number): WireField | null =>
    content + size <= bytes.length ? { number, tagEnd: tag.next, content, end: content + size } : null;
  switch (tag.value & 7) {
    case 0:
      return sized(tag.next, readVarint(bytes, tag.next, bytes.length).next - tag.next);
    case 1:
      return sized(tag.next, 8);
    case 2: {
      const length = readVarint(bytes, tag.next, bytes.length);
      return sized(length.next, length.value);
    }
    case 5:
      return sized(tag.next, 4);
    case 6:
    case 7:
      return null;
    default:
      throw new Fault('MALFORMED_MESSAGE', { message: 'the request has a group, which no message here has' });
  }
}

function messageOf(desc: DescMessage, number: number): DescMessage | null {
  const field = desc.fields.find((one) => one.number === number);
  return field?.fieldKind === 'message' ? field.message : null;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left > 0x7f; left >>>= 7) bytes.push((left & 0x7f) | 0x80);
  return Buffer.from([...bytes, left]);
}

/** The first has everything but the rest of long lists. */
function* jsonSlices(desc: DescMessage, value: JsonValue): Generator<JsonValue> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    yield value;
    return;
  }
  const entries = Object.entries(value).map(
    ([key, entry]) => [key, slicesOfEntry(desc, key, entry)] as const,
  );
  // Not by assignment: a key may be __proto__.
  yield Object.fromEntries(entries.map(([key, [head = null]]) => [key, head]));
  for (const [key, [, ...rest]] of entries) for (const slice of rest) yield { [key]: slice };
}

function slicesOfEntry(desc: DescMessage, key: string, entry: JsonValue): JsonValue[] {
  if (Array.isArray(entry)) {
    const slices: JsonValue[] = [];
    for (let start = 0; start < entry.length || start === 0; start += FIELDS_IN_SLICE)
      slices.push(entry.slice(start, start + FIELDS_IN_SLICE));
    return slices;
  }
  const field = desc.fields.find(({ name, jsonName }) => key === name || key === jsonName);
  const isOurs = field?.fieldKind === 'message' && !field.message.typeName.startsWith('google.');
  return isOurs ? [...jsonSlices(field.message, entry)] : [entry];
}
