import { describe, expect, test } from 'vitest';
import { canonicalJson, membersOf, NotJson } from './canonical-json.ts';

describe('canonical JSON', () => {
  test.each([
    ['{"b": 1, "a": [1, 2 , {"d":null,"c":true}]}', '{"a":[1,2,{"c":true,"d":null}],"b":1}'],
    ['  {\n}\t', '{}'],
    ['[]', '[]'],
    ['"\\u0041\\/\\n"', '"A/\\n"'],
    ['{"\\u0061":1}', '{"a":1}'],
    ['-0.10e+2', '-0.10e+2'],
    ['[null, true,false , 0, 1,0.5,10 , 1e3, "null"]', '[null,true,false,0,1,0.5,10,1e3,"null"]'],
    ['[12, 345 ,6789012345678901234567]', '[12,345,6789012345678901234567]'],
    ['{"b":"\\u00e4", "a": "x y"}', '{"a":"x y","b":"\u00e4"}'],
    ['{"a b": "x\\ty", "a": "\u00e4"}', '{"a b":"x\\ty","a":"\u00e4"}'],
  ])('of %s is %s, and of itself, too', (text, canonical) => {
    expect(canonicalJson(text)).toBe(canonical);
    expect(canonicalJson(canonical)).toBe(canonical);
  });

  test('keeps numbers apart that a parser makes the same', () => {
    expect(canonicalJson('9007199254740993')).not.toBe(canonicalJson('9007199254740992'));
  });

  test('keeps a key that occurs twice', () => {
    expect(canonicalJson('{"a":1,"a":2}')).toBe('{"a":1,"a":2}');
    expect(() => membersOf('{"a":1,"a":2}')).toThrow(NotJson);
  });

  test.each([
    '',
    '{',
    '{"a"}',
    '{"a":1,}',
    '[1 2]',
    '01',
    '"\n"',
    '{} x',
    "{'a':1}",
    '{"a":1 "b":2}',
    'nul',
    '[nully]',
    '[truefalse]',
    '[00]',
    '[01]',
    '[1a]',
    '[-]',
    '{"a":"\t"}',
    '{"a',
    '"\\x"',
  ])('refuses %j', (text) => {
    expect(() => canonicalJson(text)).toThrow(NotJson);
  });

  test('refuses what is nested so deeply that the stack would not hold it', () => {
    expect(() => canonicalJson('['.repeat(100_000))).toThrow(NotJson);
  });

  test('gives the members of an object in canonical form', () => {
    expect([...membersOf('{"type": "event", "event": {"b":1,"a":2}}')]).toEqual([
      ['type', '"event"'],
      ['event', '{"a":2,"b":1}'],
    ]);
  });
});
