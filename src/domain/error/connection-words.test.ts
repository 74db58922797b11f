import { expect, it } from 'vitest';
import { connectionProblem, notReachable, withoutDetails } from './connection-words.ts';

it.each([
  [`10.0.0.5:22 is ${notReachable('connection refused')}`, '10.0.0.5:22 is not reachable'],
  [
    `a is ${notReachable('no answer within 5 s')}; b is ${notReachable('no answer')}`,
    'a is not reachable; b is not reachable',
  ],
  ['ConnectRefused', 'NotReachable'],
  ['{"reason": "NoRoute"}', '{"reason": "NotReachable"}'],
  ['{"reason": "RebootFailed"}', '{"reason": "RebootFailed"}'],
  ['the BMC does not answer', 'the BMC does not answer'],
])('viewers see %s as %s', (text, seen) => {
  expect(withoutDetails(text)).toBe(seen);
});

it('never repeats a code of the system', () => {
  for (const code of ['ECONNREFUSED', 'EADDRNOTAVAIL', 'EINVAL', undefined])
    expect(connectionProblem(code)[1]).not.toMatch(/^E[A-Z]+$/);
});
