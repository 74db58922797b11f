import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CanonicalBytes } from './canonical-bytes.ts';
import { canonicalJson } from './canonical-json.ts';

const sha256 = (text: string) => hash('sha256', text, 'hex');
const bytes = new CanonicalBytes();

function ofJson(written: string): string {
  bytes.start();
  bytes.json(written);
  return bytes.sha256();
}

function ofText(value: string): string {
  bytes.start();
  bytes.text(value);
  return bytes.sha256();
}

test.each([
  '{}',
  '[]',
  'null',
  ' [ ] ',
  '["running", 0, [["running", 1, "2026-11-19T10:00:00.000Z", 0, null, ""]], -1.50e3, true, false]',
  '{"attempt": 1, "progress": 50}',
  '{"bb": 1, "a": 2}',
  '{"a": 1, "a": 2}',
  '{"a": {"b": {}}, "ab": [{}, {"c": null}]}',
  '{"ab": 1, "a": 2}',
  '["\\u001f \\" , "]',
  '["größer 🖥"]',
  '{"größer": 1}',
  '" , "',
  '12',
  `${'['.repeat(60)}${']'.repeat(60)}`,
])('%s is hashed as its canonical form', (written) => {
  expect(ofJson(written)).toBe(sha256(canonicalJson(written)));
});

test('any JSON is hashed as its canonical form, however it is spaced', () => {
  const spaced = fc.tuple(fc.json({ maxDepth: 6 }), fc.constantFrom(0, 1, '\t'));
  fc.assert(
    fc.property(spaced, ([text, space]) => {
      const written = JSON.stringify(JSON.parse(text), null, space);
      expect(ofJson(written)).toBe(sha256(canonicalJson(written)));
    }),
  );
});

test('any text is hashed as JSON has it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(ofText(text)).toBe(sha256(JSON.stringify(text)));
    }),
  );
});

test('what is written continues what was written before it, also when it needs a larger buffer', () => {
  const long = `a${'\u0001'.repeat(400_000)}`;
  bytes.start();
  bytes.plain('{"long":');
  bytes.text(long);
  bytes.plain(',"list":');
  bytes.json('[1, 2]');
  bytes.plain('}');
  expect(bytes.sha256()).toBe(sha256(`{"long":${JSON.stringify(long)},"list":[1,2]}`));
  expect(ofText('short')).toBe(sha256('"short"'));
});
