import { expect, test } from 'vitest';
import { ArgumentError, PARTS, readArguments } from '../../bench/rig/arguments.ts';

test('without flags, every part of this build is measured', () => {
  expect(readArguments([])).toMatchObject({
    against: null,
    only: PARTS,
    rounds: 5,
    form: 'text',
    profileDir: null,
  });
});

test('flags say what is compared, which parts, how often and how large', () => {
  const argv = [
    '--against',
    '4df6d11',
    '--only',
    'start,operations',
    '--rounds',
    '3',
    '--fleets',
    '10,20',
    '--json',
  ];
  expect(readArguments([...argv, '--profile', '--profile-dir', 'out'])).toMatchObject({
    against: '4df6d11',
    only: ['operations', 'start'],
    rounds: 3,
    fleets: [10, 20],
    form: 'json',
    profileDir: 'out',
  });
});

test.each([
  [['--only', 'operations,nothing'], /--only: nothing is no part/],
  [['--rounds', '0'], /--rounds: 0 is no number above 0/],
  [['--fleets', '20,10'], /--fleets: 20,10 does not ascend/],
  [['--unknown'], /Unknown option/],
] as const)('%j is refused', (argv, problem) => {
  expect(() => readArguments(argv)).toThrow(ArgumentError);
  expect(() => readArguments(argv)).toThrow(problem);
});
