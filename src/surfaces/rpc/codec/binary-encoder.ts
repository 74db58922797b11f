/**
 * Encodes answers in one pass. The library makes a message of what a handler returns, which copies all of it, and then asks each
 * message through its reflection for each field; here, the fields of a message are made into a list of writers once, at its first
 * use, and what a handler returns is written as it is. The result has the bytes that the library's would have. Kinds of fields that
 * no answer of ours has, and values that are not of their kind, are left to the library and to its errors.
 */
import {
  create,
  type DescField,
  type DescMessage,
  type MessageInitShape,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import { inOrder, NotOurs, presenceOf } from './field-presence.ts';
import { keptBinary } from './kept-encodings.ts';
import { WireWriter } from './wire-writer.ts';

type Init = MessageInitShape<DescMessage>;
type Fields = Readonly<Record<string, unknown>>;
type FieldWriter = (message: Fields) => void;
type ValueWriter = (value: unknown) => void;

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const KEY_TAG = (1 << 3) | LENGTH_DELIMITED;
const VALUE_NUMBER = 2;

const writer = new WireWriter();

/** The bytes of a message, after so many that the caller fills. */
export function encodeBinary(desc: DescMessage, message: Init, headBytes = 0): Buffer {
  return keptBinary(message, headBytes, (head) => newBinary(desc, message, head));
}

function newBinary(desc: DescMessage, message: Init, headBytes: number): Buffer {
  try {
    writer.start();
    writeMessage(desc, message as Fields);
    return writer.finish(headBytes);
  } catch (error) {
    if (!(error instanceof NotOurs)) throw error;
    const bytes = toBinary(desc, create(desc, message));
    const result = Buffer.allocUnsafe(headBytes + bytes.length);
    result.set(bytes, headBytes);
    return result;
  }
}

const writersOf = new WeakMap<DescMessage, readonly FieldWriter[]>();

function writeMessage(desc: DescMessage, message: Fields): void {
  if (message.$unknown !== undefined) throw new NotOurs();
  let writers = writersOf.get(desc);
  if (writers === undefined) {
    writers = inOrder(desc, fieldWriter);
    writersOf.set(desc, writers);
  }
  for (const write of writers) write(message);
}

function fieldWriter(field: DescField): FieldWriter {
  switch (field.fieldKind) {
    case 'list':
      return listWriter(field);
    case 'map':
      return mapWriter(field);
    case 'message':
      return singleWriter(field, messageWriter(field.number, field));
    case 'scalar':
    case 'enum':
      return singleWriter(field, scalarWriter(field.number, field.scalar ?? ScalarType.INT32));
  }
}

function singleWriter(field: DescField, write: ValueWriter): FieldWriter {
  const read = presenceOf(field);
  return (message) => {
    const value = read(message);
    if (value !== undefined) write(value);
  };
}

function listWriter(field: DescField & { fieldKind: 'list' }): FieldWriter {
  const { localName } = field;
  if (field.packed) throw new NotOurs();
  const write =
    field.listKind === 'message'
      ? messageWriter(field.number, field)
      : scalarWriter(field.number, field.scalar ?? ScalarType.INT32);
  return (message) => {
    const values = message[localName];
    if (values === undefined || values === null) return;
    if (!Array.isArray(values)) throw new NotOurs();
    for (const value of values) write(value);
  };
}

function mapWriter(field: DescField & { fieldKind: 'map' }): FieldWriter {
  const { localName } = field;
  if (field.mapKey !== ScalarType.STRING) throw new NotOurs();
  const tag = (field.number << 3) | LENGTH_DELIMITED;
  const write =
    field.mapKind === 'message'
      ? messageWriter(VALUE_NUMBER, field)
      : scalarWriter(VALUE_NUMBER, field.scalar ?? ScalarType.INT32);
  return (message) => {
    const values = message[localName] as Fields | undefined;
    if (values === undefined || values === null) return;
    for (const key of Object.keys(values)) {
      // The library loses an entry of this name on some of its ways.
      if (key === '__proto__') throw new NotOurs();
      writer.varint(tag);
      const start = writer.open();
      writer.varint(KEY_TAG);
      writer.text(key);
      write(values[key]);
      writer.close(start);
    }
  };
}

function messageWriter(
  number: number,
  field: { readonly message?: DescMessage | undefined; readonly delimitedEncoding?: boolean },
): ValueWriter {
  const { message: desc } = field;
  if (desc === undefined || field.delimitedEncoding === true || hasOwnShape(desc)) throw new NotOurs();
  const tag = (number << 3) | LENGTH_DELIMITED;
  return (value) => {
    if (typeof value !== 'object' || value === null) throw new NotOurs();
    writer.varint(tag);
    const start = writer.open();
    writeMessage(desc, value as Fields);
    writer.close(start);
  };
}

/** Types that the library represents by plain values. */
function hasOwnShape({ typeName }: DescMessage): boolean {
  return /^google\.protobuf\.(?:Struct|Value|ListValue|\w+Value)$/.test(typeName);
}

function scalarWriter(number: number, scalar: ScalarType): ValueWriter {
  const varintTag = ((number << 3) | VARINT) >>> 0;
  const bytesTag = ((number << 3) | LENGTH_DELIMITED) >>> 0;
  switch (scalar) {
    case ScalarType.STRING:
      return (value) => {
        if (typeof value !== 'string') throw new NotOurs();
        writer.varint(bytesTag);
        writer.text(value);
      };
    case ScalarType.BOOL:
      return (value) => {
        writer.varint(varintTag);
        writer.varint(value ? 1 : 0);
      };
    case ScalarType.INT32:
      return (value) => {
        if (typeof value !== 'number' || (value | 0) !== value) throw new NotOurs();
        writer.varint(varintTag);
        writer.int32(value);
      };
    case ScalarType.UINT32:
      return (value) => {
        if (typeof value !== 'number' || value >>> 0 !== value) throw new NotOurs();
        writer.varint(varintTag);
        writer.varint(value);
      };
    case ScalarType.INT64:
      return (value) => {
        if (typeof value !== 'bigint') throw new NotOurs();
        const number = Number(value);
        if (number >= 0 && number <= Number.MAX_SAFE_INTEGER) {
          writer.varint(varintTag);
          writer.uint53(number);
          return;
        }
        if (BigInt.asIntN(64, value) !== value) throw new NotOurs();
        writer.varint(varintTag);
        writer.int64(value);
      };
    case ScalarType.DOUBLE:
      return (value) => {
        if (typeof value !== 'number') throw new NotOurs();
        writer.varint(((number << 3) | FIXED64) >>> 0);
        writer.double(value);
      };
    case ScalarType.BYTES:
      return (value) => {
        if (!(value instanceof Uint8Array)) throw new NotOurs();
        writer.varint(bytesTag);
        writer.bytes(value);
      };
    default:
      throw new NotOurs();
  }
}
