import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutTo, displayWidth, padEnd, plainJson, plainLogLine, plainText } from './plain-text.ts';

describe('text from a machine', () => {
  it('never reaches a terminal with a control character in it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(plainText(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/u);
        expect(plainLogLine(text).replaceAll('\t', '')).not.toMatch(/\p{Cc}/u);
      }),
    );
  });

  it('is left alone otherwise', () => {
    expect(plainText('ubuntu-2204 ✓ 日本 é')).toBe('ubuntu-2204 ✓ 日本 é');
  });

  it('means the same in JSON afterwards', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = plainJson(JSON.stringify({ text }));
        expect(JSON.parse(json)).toEqual({ text });
        expect(json).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});

describe('the width of text', () => {
  it.each([
    ['READY', 5],
    ['✓', 1],
    ['⚠ATTENTION', 10],
    ['⛔BLOCKED', 9],
    ['日本', 4],
    ['e\u0301', 1],
    ['🔴', 2],
  ])('%s takes %i columns', (text, width) => {
    expect(displayWidth(text)).toBe(width);
    expect(displayWidth(padEnd(text, 12))).toBe(12);
  });

  it('is never more than it was cut to', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 20 }), (text, width) => {
        expect(displayWidth(cutTo(plainText(text), width))).toBeLessThanOrEqual(width);
      }),
    );
  });
});
