/** Whether a field of what a handler returns is set, by the rules of protobuf. */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';

/** The library encodes this message: the encoders here know no such field or value. */
export class NotOurs extends Error {}

/** `google.protobuf.FeatureSet.FieldPresence.IMPLICIT`: the zero value says that the field is not set. */
const IMPLICIT = 2;

/** One encoder for each field, in the order of their numbers, as the library writes them. */
export function inOrder<Encoder>(
  desc: DescMessage,
  encoderOf: (field: DescField) => Encoder,
): readonly Encoder[] {
  return desc.fields.toSorted((one, other) => one.number - other.number).map(encoderOf);
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads a single field; undefined: it is not set. */
export function presenceOf(field: DescField): (message: Fields) => unknown {
  const { localName, oneof } = field;
  if (oneof) {
    return (message) => {
      const chosen = message[oneof.localName] as { case?: string; value?: unknown } | undefined;
      return chosen?.case === localName ? (chosen.value ?? undefined) : undefined;
    };
  }
  if (field.presence !== IMPLICIT || field.fieldKind === 'message')
    return (message) => message[localName] ?? undefined;
  const isZero = zeroTest(field);
  return (message) => {
    const value = message[localName];
    return value === undefined || value === null || isZero(value) ? undefined : value;
  };
}

function zeroTest(field: DescField): (value: unknown) => boolean {
  switch (field.scalar) {
    case ScalarType.STRING:
      return (value) => value === '';
    case ScalarType.BOOL:
      return (value) => value === false;
    case ScalarType.BYTES:
      return (value) => value instanceof Uint8Array && value.length === 0;
    case ScalarType.DOUBLE:
      // The library writes -0.
      return (value) => Object.is(value, 0);
    default:
      return (value) => value === 0 || value === 0n;
  }
}
