import { type DescMessage, fromJsonString, type JsonValue, ScalarType } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SERVICES } from '../../access/known-methods.ts';
import { flatMessage } from './flat-json.ts';

const inputs = new Map(
  SERVICES.flatMap(({ methods }) => methods.map(({ input }) => [input.typeName, input] as const)),
);

const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.constantFrom('', 'm-1', '\ud83d'));

/** What a client may send: fields by either of their names, mostly of their kind, and what no field has. */
function anyRequest(desc: DescMessage): fc.Arbitrary<JsonValue> {
  const names = desc.fields.flatMap(({ name, jsonName }) => [name, jsonName]);
  const values = Object.fromEntries(
    desc.fields.flatMap(({ name, jsonName, scalar }) => {
      const ofKind = scalar === ScalarType.BOOL ? fc.boolean() : anyText;
      const value = fc.oneof(
        { arbitrary: ofKind, weight: 9 },
        fc.jsonValue({ maxDepth: 1 }) as typeof anyText,
      );
      return [
        [name, value],
        [jsonName, value],
      ];
    }),
  );
  const known = fc.record(values, { requiredKeys: [] });
  const others = fc.constantFrom(
    {},
    {},
    {},
    { __proto__: null, nothing: 1 },
    JSON.parse('{"__proto__": ""}'),
  );
  const request = fc.tuple(known, others).map(([one, other]) => ({ ...one, ...other }) as JsonValue);
  return names.length === 0 ? (others as fc.Arbitrary<JsonValue>) : request;
}

describe.each([...inputs])('%s', (_name, desc) => {
  it('is what the library decodes, or is left to it', () => {
    fc.assert(
      fc.property(anyRequest(desc), (json) => {
        const text = JSON.stringify(json);
        const flat = flatMessage(desc, text);
        if (flat !== null) expect(flat).toStrictEqual(fromJsonString(desc, text));
      }),
      { numRuns: 100 },
    );
  });
});

it.each([
  ['{"machineId":"m-1"}', 'taken'],
  ['{"machine_id":"m-1"}', 'taken'],
  ['{ "machineId"\t:\n"m:1" }', 'taken'],
  ['{}', 'taken'],
  ['{"machineId":"m-1","machine_id":"m-2"}', 'left'],
  ['{"machineId":"m-1","machineId":"m-2"}', 'left'],
  ['{"machineId":"m-1","machine\\u0049d":"m-2"}', 'left'],
  ['{"machineId" :"m-1","machineId"\n: "m-1"}', 'left'],
  ['{"machineId":"\\":"}', 'left'],
  ['{"machineId":null}', 'left'],
  ['{"machineId":7}', 'left'],
  ['{"machineId":"\\ud83d"}', 'left'],
  ['{"machine":"m-1"}', 'left'],
  ['["m-1"]', 'left'],
  ['"m-1"', 'left'],
  ['null', 'left'],
] as const)('%s is %s', (text, expected) => {
  const desc = inputs.get('baremetal.v2.GetMachineRequest');
  if (!desc) throw new Error('there is no such message');
  expect(flatMessage(desc, text) === null ? 'left' : 'taken').toBe(expected);
});
