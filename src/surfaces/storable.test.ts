import { expect, it } from 'vitest';
import { isStorable, unstorablePath } from './storable.ts';

it.each(['', 'plain', 'ü€😀', '\ufffd', '\uffff', '\n\t\u001b', '\\u0000'])('%j can be stored', (text) => {
  expect(isStorable(text)).toBe(true);
});

it.each(['\0', 'a\0b', '\ud800', 'a\udc00', '\udc00\ud800'])('%j can’t', (text) => {
  expect(isStorable(text)).toBe(false);
});

it('finds the place, in values and in keys', () => {
  expect(unstorablePath({ a: [{ b: 'x' }, { c: 'x\0' }] })).toEqual(['a', '1', 'c']);
  expect(unstorablePath({ a: { 'k\0': 1 } })).toEqual(['a', 'k\0']);
  expect(unstorablePath('\0')).toEqual([]);
  expect(unstorablePath({ a: new Uint8Array(3), b: null, c: 1n, d: 'ok' })).toBeNull();
});

it('reaches the bottom of a deep value', () => {
  let deep: unknown = '\0';
  for (let depth = 0; depth < 2_000; depth += 1) deep = [deep];
  expect(unstorablePath(deep)).toHaveLength(2_000);
});
