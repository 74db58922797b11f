import {
  create,
  type DescField,
  type DescMessage,
  ScalarType,
  toBinary,
  toJsonString,
} from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SERVICES } from '../../access/known-methods.ts';
import { encodeBinary } from './binary-encoder.ts';
import { encodeJson } from './json-encoder.ts';

const outputs = new Map(
  SERVICES.flatMap(({ methods }) => methods.map(({ output }) => [output.typeName, output] as const)),
);

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 400 }),
  // Half of a surrogate pair, which neither UTF-8 nor a database has.
  fc.constant('\ud83d'),
);

const plainObjects = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 20 }),
  fc.jsonValue({ maxDepth: 2 }),
  { maxKeys: 3 },
);

const SCALARS: Partial<Record<ScalarType, fc.Arbitrary<unknown>>> = {
  [ScalarType.STRING]: texts,
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.INT32]: fc.integer(),
  [ScalarType.UINT32]: fc.nat(0xffffffff),
  [ScalarType.INT64]: fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constantFrom(2n ** 32n - 1n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n),
  ),
  [ScalarType.DOUBLE]: fc.double(),
  [ScalarType.BYTES]: fc.uint8Array({ maxLength: 200 }),
};

/** What a handler may return: any part may be left out. */
function anyMessage(desc: DescMessage, depth: number): fc.Arbitrary<unknown> {
  if (desc.typeName === 'google.protobuf.Timestamp')
    return fc.record({
      seconds: fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n }),
      nanos: fc.oneof(fc.constantFrom(0, 5_000_000, 7_000), fc.nat(999_999_999)),
    });
  // The library represents a Struct by a plain object.
  if (desc.typeName === 'google.protobuf.Struct') return plainObjects;
  const fields = desc.fields
    .filter(({ oneof }) => !oneof)
    .map((field) => [field.localName, anyValue(field, depth)]);
  const oneofs = desc.oneofs.map(({ localName, fields: cases }) => [
    localName,
    fc.oneof(
      ...cases.map((field) =>
        fc.record({ case: fc.constant(field.localName), value: anyValue(field, depth) }),
      ),
    ),
  ]);
  const model = Object.fromEntries([...fields, ...oneofs]) as Record<string, fc.Arbitrary<unknown>>;
  return depth === 0 ? fc.constant({}) : fc.record(model, { requiredKeys: [] });
}

function anyValue(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const one = field.message
    ? anyMessage(field.message, depth - 1)
    : field.enum
      ? fc.constantFrom(...field.enum.values.map(({ number }) => number), 4711)
      : SCALARS[field.scalar ?? ScalarType.STRING];
  if (one === undefined) throw new Error(`${field} has a kind that this test does not know`);
  if (field.fieldKind === 'list') return fc.array(one, { maxLength: 3 });
  if (field.fieldKind !== 'map') return one;
  return fc.dictionary(fc.oneof(texts, fc.constantFrom('7', '__proto__', 'rack')), one, { maxKeys: 3 });
}

describe.each([...outputs])('%s', (_name, desc) => {
  it('has the bytes and the JSON of the library, whatever is in it', () => {
    fc.assert(
      fc.property(anyMessage(desc, 4), (message) => {
        const library = create(desc, message as never);
        expect(encodeBinary(desc, message as never).equals(toBinary(desc, library))).toBe(true);
        expect(encodeJson(desc, message as never)).toBe(
          toJsonString(desc, library, { alwaysEmitImplicit: true }),
        );
        // What the library made is encoded as well.
        expect(encodeBinary(desc, library).equals(toBinary(desc, library))).toBe(true);
      }),
      { numRuns: 25 },
    );
  });
});

it('writes a negative zero, which is not the zero of a field that is not set', () => {
  const desc = outputs.get('baremetal.fleet.v1.FleetHistory');
  if (!desc) throw new Error('there is no such message');
  const message = { durations: [{ p90Seconds: -0 }] } as never;
  expect(encodeBinary(desc, message).equals(toBinary(desc, create(desc, message)))).toBe(true);
});

it('writes long messages, in any buffer that came before, after the head that the caller fills', () => {
  const desc = outputs.get('baremetal.v2.ListMachinesResponse');
  if (!desc) throw new Error('there is no such message');
  for (const count of [1, 3_000, 2]) {
    const machines = Array.from({ length: count }, (_, index) => ({
      machineId: `m-${index}`,
      labels: { rack: 'ä'.repeat(index % 300), empty: '' },
    }));
    const message = { machines, nextPageToken: 'x'.repeat(count * 10) };
    const library = toBinary(desc, create(desc, message as never));
    expect(
      encodeBinary(desc, message as never, 5)
        .subarray(5)
        .equals(library),
    ).toBe(true);
  }
});

it('leaves a value that is not of its kind to the library, which names the field', () => {
  const desc = outputs.get('baremetal.v2.Operation');
  if (!desc) throw new Error('there is no such message');
  const message = { progressPercent: 1.5 } as never;
  expect(() => encodeBinary(desc, message)).toThrow('Operation.progress_percent');
  expect(encodeJson(desc, message)).toContain('"progressPercent":1.5');
});
