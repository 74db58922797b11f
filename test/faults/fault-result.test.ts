import { expect, it } from 'vitest';
import { type FaultResult, isGood, tableOf } from './fault-result.ts';

const GOOD: FaultResult = {
  fault: 'clock back 1 h',
  accepted: 200,
  lost: 0,
  doubled: 0,
  needingHuman: 0,
  recoverySeconds: 1.55,
  problems: [],
};

it('prints a line for each fault under the names of the columns', () => {
  const lines = tableOf([GOOD, { ...GOOD, fault: 'partition', lost: 2, problems: ['one', 'two'] }]);
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    ['fault', 'accepted', 'lost', 'doubled', 'needing a human', 'seconds to recover'],
    ['clock back 1 h', '200', '0', '0', '0', '1.6', 'ok'],
    ['partition', '200', '2', '0', '0', '1.6', '2 broken promises'],
  ]);
});

it.each([
  ['a lost operation', { lost: 1 }],
  ['a doubled effect', { doubled: 1 }],
  ['work for a human', { needingHuman: 1 }],
  ['a broken promise', { problems: ['the replica stayed ready'] }],
])('%s is not good', (_words, fields) => {
  expect(isGood(GOOD)).toBe(true);
  expect(isGood({ ...GOOD, ...fields })).toBe(false);
});
