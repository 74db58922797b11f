/**
 * Writes answers as JSON in one pass, with the fields that are false, 0 or empty: readers of JSON expect them. The library makes a
 * message of what a handler returns, then a tree of JSON values, and then the text; here the text is written from what the handler
 * returns. It is the text that the library would write. As with binary-encoder.ts, what no answer of ours has is left to it.
 */
import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  type MessageInitShape,
  ScalarType,
  toJson,
} from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { inOrder, NotOurs, presenceOf } from './field-presence.ts';
import { keptJson } from './kept-encodings.ts';
import { secondText } from './second-text.ts';

type Init = MessageInitShape<DescMessage>;
type Fields = Readonly<Record<string, unknown>>;
type ValueText = (value: unknown) => string;
/** Null: the field is left out. */
type FieldText = (message: Fields) => string | null;

const IMPLICIT = 2;

export function encodeJson(desc: DescMessage, message: Init): string {
  return keptJson(message, () => newJson(desc, message));
}

function newJson(desc: DescMessage, message: Init): string {
  try {
    return messageText(desc, message as Fields);
  } catch (error) {
    if (!(error instanceof NotOurs)) throw error;
    return JSON.stringify(toJson(desc, create(desc, message), { alwaysEmitImplicit: true }));
  }
}

const fieldsOf = new WeakMap<DescMessage, readonly FieldText[]>();

function messageText(desc: DescMessage, message: Fields): string {
  let fields = fieldsOf.get(desc);
  if (fields === undefined) {
    fields = inOrder(desc, fieldText);
    fieldsOf.set(desc, fields);
  }
  let text = '{';
  for (const field of fields) {
    const part = field(message);
    if (part !== null) text += text.length === 1 ? part : `,${part}`;
  }
  return `${text}}`;
}

function fieldText(field: DescField): FieldText {
  const name = `${JSON.stringify(field.jsonName)}:`;
  switch (field.fieldKind) {
    case 'list': {
      const text = field.listKind === 'message' ? messageValue(field.message) : plainValue(field);
      return (message) => name + listText(message[field.localName], text);
    }
    case 'map': {
      const text = field.mapKind === 'message' ? messageValue(field.message) : plainValue(field);
      return (message) => name + mapText(message[field.localName], text);
    }
    case 'message':
      return singleText(field, name, messageValue(field.message));
    case 'scalar':
    case 'enum':
      return singleText(field, name, plainValue(field));
  }
}

function singleText(field: DescField, name: string, text: ValueText): FieldText {
  const read = presenceOf(field);
  const zero = field.presence === IMPLICIT && field.fieldKind !== 'message' ? name + zeroText(field) : null;
  return (message) => {
    const value = read(message);
    return value === undefined ? zero : name + text(value);
  };
}

function zeroText(field: DescField): string {
  if (field.fieldKind === 'enum') return enumText(field.enum)(0);
  switch (field.scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return '""';
    case ScalarType.BOOL:
      return 'false';
    case ScalarType.INT64:
      return '"0"';
    default:
      return '0';
  }
}

function listText(values: unknown, text: ValueText): string {
  if (values === undefined || values === null) return '[]';
  if (!Array.isArray(values)) throw new NotOurs();
  let list = '[';
  for (const value of values) list += list.length === 1 ? text(value) : `,${text(value)}`;
  return `${list}]`;
}

function mapText(values: unknown, text: ValueText): string {
  if (values === undefined || values === null) return '{}';
  let map = '{';
  for (const key of Object.keys(values)) {
    // The library loses an entry of this name.
    if (key === '__proto__') throw new NotOurs();
    const entry = `${quoted(key)}:${text((values as Fields)[key])}`;
    map += map.length === 1 ? entry : `,${entry}`;
  }
  return `${map}}`;
}

function messageValue(desc: DescMessage): ValueText {
  if (desc.typeName === 'google.protobuf.Timestamp') return timestampText;
  // The other types of Google have forms of their own in JSON.
  if (desc.typeName.startsWith('google.protobuf.')) throw new NotOurs();
  return (value) => {
    if (typeof value !== 'object' || value === null) throw new NotOurs();
    return messageText(desc, value as Fields);
  };
}

/** Nothing that JSON.stringify would escape, and no half of a surrogate pair: nearly all texts are such. */
const PLAIN = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

const FIRST_SECOND = Date.parse('0001-01-01T00:00:00Z') / 1000;
const LAST_SECOND = Date.parse('9999-12-31T23:59:59Z') / 1000;

function timestampText(value: unknown): string {
  const { seconds, nanos = 0 } = value as Partial<Timestamp>;
  const whole = Number(seconds ?? 0n);
  if (!(whole >= FIRST_SECOND && whole <= LAST_SECOND) || !(nanos >= 0 && nanos < 1_000_000_000))
    throw new NotOurs();
  const second = secondText(whole);
  if (nanos === 0) return `"${second}Z"`;
  const digits = String(nanos).padStart(9, '0');
  const length = digits.endsWith('000000') ? 3 : digits.endsWith('000') ? 6 : 9;
  return `"${second}.${digits.slice(0, length)}Z"`;
}

function enumText(desc: DescEnum): ValueText {
  if (desc.typeName === 'google.protobuf.NullValue') throw new NotOurs();
  const names = new Map(desc.values.map(({ number, name }) => [number, JSON.stringify(name)]));
  return (value) => {
    if (typeof value !== 'number') throw new NotOurs();
    return names.get(value) ?? String(value);
  };
}

function plainValue(field: {
  readonly enum?: DescEnum | undefined;
  readonly scalar?: ScalarType | undefined;
}): ValueText {
  if (field.enum) return enumText(field.enum);
  switch (field.scalar) {
    case ScalarType.STRING:
      return (value) => {
        if (typeof value !== 'string') throw new NotOurs();
        return quoted(value);
      };
    case ScalarType.BOOL:
      return (value) => {
        if (typeof value !== 'boolean') throw new NotOurs();
        return value ? 'true' : 'false';
      };
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.DOUBLE:
      return (value) => {
        if (typeof value !== 'number' || !Number.isFinite(value)) throw new NotOurs();
        return JSON.stringify(value);
      };
    case ScalarType.INT64:
      return (value) => {
        if (typeof value !== 'bigint') throw new NotOurs();
        return `"${value}"`;
      };
    case ScalarType.BYTES:
      return (value) => {
        if (!(value instanceof Uint8Array)) throw new NotOurs();
        return `"${Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64')}"`;
      };
    default:
      throw new NotOurs();
  }
}
