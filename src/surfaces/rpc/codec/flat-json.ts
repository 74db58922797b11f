/**
 * Reads the JSON of a request that has texts and booleans only, as those of most calls have: the library asks its reflection about each
 * value. What has anything else in it, or anything unusual, is left to the library, and so are all errors.
 */
import { create, type DescMessage, type JsonValue, ScalarType } from '@bufbuild/protobuf';
import { isStorable } from '../../storable.ts';

interface FlatField {
  readonly localName: string;
  readonly scalar: ScalarType.STRING | ScalarType.BOOL;
}

type Fields = ReadonlyMap<string, FlatField>;

/** Null: the library decodes it. Throws where the text is no JSON. */
export function flatMessage(desc: DescMessage, text: string): object | null {
  const json = JSON.parse(text) as JsonValue;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return null;
  const fields = fieldsOf(desc);
  const message = create(desc) as unknown as Record<string, unknown>;
  const seen = new Set<string>();
  const keys = Object.keys(json);
  // JSON.parse keeps the last of two values with one name, and the library refuses them. A text with a quote and a colon counts, too.
  if (keys.length !== (text.match(NAME)?.length ?? 0)) return null;
  for (const key of keys) {
    const field = fields.get(key);
    const value = json[key];
    if (field === undefined || seen.has(field.localName) || !isOf(field, value)) return null;
    seen.add(field.localName);
    message[field.localName] = value;
  }
  return message;
}

const NAME = /"[ \t\r\n]*:/g;

/** The library refuses half of a surrogate pair. */
function isOf({ scalar }: FlatField, value: JsonValue | undefined): boolean {
  return scalar === ScalarType.BOOL
    ? typeof value === 'boolean'
    : typeof value === 'string' && isStorable(value);
}

const known = new WeakMap<DescMessage, Fields>();

/** By each of their two names. */
function fieldsOf(desc: DescMessage): Fields {
  let fields = known.get(desc);
  if (fields === undefined) {
    const flat = desc.fields.flatMap((field): Array<[string, FlatField]> => {
      const { localName, scalar, fieldKind, oneof } = field;
      if (fieldKind !== 'scalar' || oneof) return [];
      if (scalar !== ScalarType.STRING && scalar !== ScalarType.BOOL) return [];
      const entry = { localName, scalar };
      return [
        [field.jsonName, entry],
        [field.name, entry],
      ];
    });
    fields = new Map(flat);
    known.set(desc, fields);
  }
  return fields;
}
