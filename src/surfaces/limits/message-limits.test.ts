import { create, type DescMessage, fromJsonString, toBinary } from '@bufbuild/protobuf';
import { StructSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { RegisterMachineRequestSchema } from '../../gen/baremetal/v2/machine_service_pb.ts';
import { tooManyValues } from './json-values.ts';
import { tooManyFields } from './wire-fields.ts';

const LIMITS = { fields: 100, values: 100, depth: 8 } as const;

describe('the fields of a message in binary', () => {
  const fieldsOf = (desc: DescMessage, bytes: Uint8Array) => tooManyFields(desc, bytes, LIMITS);
  const labelled = (count: number) =>
    toBinary(
      RegisterMachineRequestSchema,
      create(RegisterMachineRequestSchema, {
        machine: { labels: Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'v'])) },
      }),
    );

  it('are counted, also those of entries and of nested messages', () => {
    // Each label is an entry with a key and a value; the machine is one more.
    expect(fieldsOf(RegisterMachineRequestSchema, labelled(33))).toBeNull();
    expect(fieldsOf(RegisterMachineRequestSchema, labelled(34))).toContain('more than 100 fields');
  });

  it('are counted when they are unknown', () => {
    const unknown = (count: number) => Buffer.concat(Array(count).fill(Buffer.from([0x78, 0x01])));
    expect(fieldsOf(RegisterMachineRequestSchema, unknown(100))).toBeNull();
    expect(fieldsOf(RegisterMachineRequestSchema, unknown(101))).toContain('more than 100 fields');
    expect(fieldsOf(RegisterMachineRequestSchema, Buffer.alloc(200, 0x7b))).toContain('8 levels deep');
  });

  it('may be nested only so deep', () => {
    const deep = (levels: number) => {
      let text = '1';
      for (let level = 0; level < levels; level += 1) text = `{"a":${text}}`;
      return toBinary(StructSchema, fromJsonString(StructSchema, text));
    };
    expect(fieldsOf(StructSchema, deep(2))).toBeNull();
    expect(fieldsOf(StructSchema, deep(5))).toContain('8 levels deep');
  });

  it('are left to the decoder when they are no message', () => {
    for (const bytes of [
      [],
      [0x07],
      [0x0a, 0xff],
      [0x0a, 0x05, 0x01],
      [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ])
      expect(fieldsOf(RegisterMachineRequestSchema, Buffer.from(bytes))).toBeNull();
  });
});

describe('the values of a JSON text', () => {
  const valuesOf = (text: string) => tooManyValues(Buffer.from(text), LIMITS);

  it.each([
    ['a list', `[${Array(99).fill(1).join()}]`, null],
    ['a long list', `[${Array(100).fill(1).join()}]`, 'more than 100 values'],
    ['an object', `{${Array(99).fill('"a":1').join()}}`, null],
    ['a long object', `{${Array(100).fill('"a":1').join()}}`, 'more than 100 values'],
    ['commas and brackets in a text', JSON.stringify(`${',[{'.repeat(200)}"\\`), null],
    [
      'a text with escaped quotes and backslashes',
      JSON.stringify(['\\"'.repeat(50), '\\', ',"'.repeat(80)]),
      null,
    ],
    ['eight levels', `${'['.repeat(8)}${']'.repeat(8)}`, null],
    ['nine levels', `${'['.repeat(9)}${']'.repeat(9)}`, 'more than 8 levels deep'],
    ['what is not JSON', '"never ends', null],
  ])('%s', (_what, text, problem) => {
    if (problem === null) expect(valuesOf(text)).toBeNull();
    else expect(valuesOf(text)).toContain(problem);
  });
});
