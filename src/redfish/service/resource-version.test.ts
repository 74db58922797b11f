import { expect, it } from 'vitest';
import { versionsOf } from './resource-version.ts';

it.each([
  ['none', '', '', []],
  ['one that is the same at both places', '"7"', '"7"', ['"7"']],
  ['a weak one in the header', 'W/"7"', '"7"', ['W/"7"', '"7"']],
  ['weak ones at both places', 'W/"7"', 'W/"7"', ['W/"7"', '"7"']],
  ['one of a compressed answer', '"7-gzip"', '', ['"7-gzip"', '"7"']],
  ['a weak one of a compressed answer', 'W/"7;gzip"', '', ['W/"7;gzip"', '"7"']],
  ['one in two pairs of quotes', '""7""', '', ['""7""', '"7"']],
  ['one without quotes', '1682532272', '', ['1682532272', '"1682532272"']],
])('the versions of %s', (_what, header, body, expected) => {
  expect(versionsOf(header, body)).toEqual(expected);
});
