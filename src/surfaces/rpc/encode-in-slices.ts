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
  type MessageInitShape,
  toBinary,
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

function encoded(desc: DescMessage, answer: MessageInitShape<DescMessage>): Buffer {
  return Buffer.from(toBinary(desc, create(desc, answer)));
}

interface LongList {
  readonly name: string;
  readonly entries: readonly unknown[];
}

/** The one list of messages that an answer has; null: it has none, or a short one. */
function longListOf(desc: DescMessage, answer: MessageInitShape<DescMessage>): LongList | null {
  const name = listNames.get(desc) ?? listNameOf(desc);
  listNames.set(desc, name);
  const entries: unknown = name === '' ? null : Reflect.get(answer, name);
  return Array.isArray(entries) && entries.length > SLICE ? { name, entries } : null;
}

const listNames = new WeakMap<DescMessage, string>();

function listNameOf({ fields }: DescMessage): string {
  const isList = (field: DescField) => field.fieldKind === 'list' && field.listKind === 'message';
  return fields.find(isList)?.localName ?? '';
}
