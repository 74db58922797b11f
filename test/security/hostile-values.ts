/** Values that no honest client sends, and messages and bodies made of them. */
import { gzipSync } from 'node:zlib';
import { type DescField, type DescMessage, fromJson, ScalarType, toBinary } from '@bufbuild/protobuf';
import type { SeededRandom } from './random.ts';

export const TEXTS = [
  '',
  'x',
  'a\u0000b',
  '\ud800',
  'a\udfffb',
  '\u2028',
  '\u001b[31m',
  '../../../etc/passwd',
  "' OR 1=1 --",
  '$(reboot)',
  '__proto__',
  'constructor',
  '%00',
  '%ff',
  '🚀'.repeat(40),
  'ä'.repeat(300),
  'x'.repeat(5_000),
  'NaN',
  '-1',
  '1e999',
  '0x10',
  'null',
  'labels.a="',
  'NOT '.repeat(60),
  '('.repeat(200),
  '52:54:00:00:00:01',
  'ffff-ffff',
  '9'.repeat(40),
] as const;

const NUMBERS = [0, -1, 1, 2 ** 31, -(2 ** 31), 2 ** 53, 1e308, 0.5, 99_999_999_999_999] as const;

export function hostileJson(random: SeededRandom, depth = 0): unknown {
  switch (random.below(depth > 3 ? 5 : 8)) {
    case 0:
      return random.one(NUMBERS);
    case 1:
      return random.chance(0.5);
    case 2:
      return null;
    case 3:
    case 4:
      return random.one(TEXTS);
    case 5:
      return Array.from({ length: random.below(4) }, () => hostileJson(random, depth + 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.below(4) }, () => [random.one(TEXTS), hostileJson(random, depth + 1)]),
      );
  }
}

/** A message as JSON, most of it of the right type. */
export function messageJson(random: SeededRandom, desc: DescMessage, depth = 0): unknown {
  if (desc.typeName.startsWith('google.protobuf.')) return random.chance(0.5) ? random.one(TEXTS) : '1s';
  const fields = desc.fields.filter(() => random.chance(0.6));
  return Object.fromEntries(
    fields.map((field) => [
      random.chance(0.98) ? field.jsonName : random.one(TEXTS),
      random.chance(0.9) ? fieldJson(random, field, depth) : hostileJson(random),
    ]),
  );
}

function fieldJson(random: SeededRandom, field: DescField, depth: number): unknown {
  if (field.fieldKind === 'list')
    return Array.from({ length: random.below(4) }, () =>
      field.message ? nested(random, field.message, depth) : scalarJson(random, field.scalar),
    );
  if (field.fieldKind === 'map')
    return Object.fromEntries(
      Array.from({ length: random.below(4) }, () => [random.one(TEXTS), scalarJson(random, field.scalar)]),
    );
  if (field.message) return nested(random, field.message, depth);
  return field.fieldKind === 'enum' ? random.below(9) : scalarJson(random, field.scalar);
}

function nested(random: SeededRandom, desc: DescMessage, depth: number): unknown {
  return depth > 4 ? {} : messageJson(random, desc, depth + 1);
}

function scalarJson(random: SeededRandom, scalar: ScalarType | undefined): unknown {
  switch (scalar) {
    case ScalarType.STRING:
      return random.one(TEXTS);
    case ScalarType.BOOL:
      return random.chance(0.5);
    case ScalarType.BYTES:
      return random.bytes(8).toString('base64');
    default:
      return random.one(NUMBERS);
  }
}

/** A message in binary: valid where its JSON is, then damaged in one of several ways. */
export function messageBytes(random: SeededRandom, desc: DescMessage): Buffer {
  const valid = encoded(random, desc);
  switch (random.below(6)) {
    case 0:
      return random.bytes(random.below(200));
    case 1:
      return valid.subarray(0, random.below(valid.length + 1));
    case 2:
      return flipped(random, valid);
    case 3:
      return Buffer.concat([valid, random.bytes(random.below(20))]);
    default:
      return valid;
  }
}

function encoded(random: SeededRandom, desc: DescMessage): Buffer {
  try {
    return Buffer.from(toBinary(desc, fromJson(desc, messageJson(random, desc) as never)));
  } catch {
    // Its values are not of its types: then it is bytes.
    return random.bytes(random.below(60));
  }
}

function flipped(random: SeededRandom, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let count = 0; count < 3 && copy.length > 0; count += 1)
    copy[random.below(copy.length)] = random.below(256);
  return copy;
}

/** JSON text, now and then cut off or damaged. */
export function jsonBytes(random: SeededRandom, value: unknown): Buffer {
  // A lone surrogate stays an escape in JSON.
  const text = Buffer.from(JSON.stringify(value) ?? 'null');
  switch (random.below(12)) {
    case 0:
      return text.subarray(0, random.below(text.length + 1));
    case 1:
      return flipped(random, text);
    case 2:
      return Buffer.from(
        random.one(['', 'null', '[]', '"x"', '1', '{', '['.repeat(2_000), '\u0000', '{"a":NaN}']),
      );
    default:
      return text;
  }
}

/** Five bytes before the message: flags, and a length that may lie. */
export function enveloped(random: SeededRandom, message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head[0] = random.chance(0.7) ? 0 : random.one([1, 2, 3, 0x80, 0xff]);
  head.writeUInt32BE(
    random.chance(0.85) ? message.length : random.one([0, 1, message.length + 7, 0xffffffff]),
    1,
  );
  return Buffer.concat([head, message]);
}

export function compressed(random: SeededRandom, body: Buffer): Buffer {
  return random.chance(0.6) ? gzipSync(body) : body;
}
