import { expect, it } from 'vitest';
import { EscapeKeys } from './escape-keys.ts';

const read = (...typed: string[]) => {
  const keys = new EscapeKeys();
  return typed
    .flatMap((text) => keys.read(Buffer.from(text)))
    .map((one) => ('action' in one ? one : Buffer.from(one.bytes).toString()));
};

it.each([
  ['at the start', ['~.'], [{ action: 'disconnect' }]],
  ['after a line, key by key', ['ls\r', '~', '.'], ['ls\r', { action: 'disconnect' }]],
  ['within a paste', ['ls\r~Bx'], ['ls\r', { action: 'break' }, 'x']],
  ['in the middle of a line they are text', ['a~.', '\x03'], ['a~.', '\x03']],
  ['two of them are one', ['~~.'], ['~.']],
  ['with another key both are text', ['~x~.'], ['~x~.']],
  ['one after the other', ['~?~s'], [{ action: 'help' }, { action: 'steal' }]],
])('escape keys: %s', (_name, typed, expected) => {
  expect(read(...typed)).toEqual(expected);
});
