import { expect, test } from 'vitest';
import { readGrowthArguments } from '../../bench/growth/arguments.ts';
import { CALLS, callName } from '../../bench/growth/calls.ts';
import { machineOfTurn, turnsIn } from '../../bench/growth/fill.ts';
import { defects, growthOf, type Measured, showGrowth } from '../../bench/growth/growth.ts';
import { ArgumentError } from '../../bench/rig/arguments.ts';

const measured = (use: Measured['use'], ...times: number[][]): Measured => ({
  name: 'Get',
  use,
  times,
  failure: null,
});

test('a call is flat until its quickest rounds differ by more than the limit', () => {
  expect(growthOf(measured('daily', [9, 1, 2], [1.3, 50, 70]))).toMatchObject({
    factor: 1.3,
    verdict: 'flat',
  });
  expect(growthOf(measured('daily', [1], [3], [1.31]))).toMatchObject({ verdict: 'grows' });
});

test('only what is needed every day, and what fails, is a defect', () => {
  const failed = { ...measured('seldom', [], []), failure: 'refused' };
  const all = [
    measured('daily', [1], [2]),
    measured('seldom', [1], [2]),
    measured('whole', [1], [2]),
    failed,
  ];
  expect(defects(all.map(growthOf)).map(({ verdict }) => verdict)).toEqual(['grows', 'failed']);
  expect(showGrowth(growthOf(failed))).toMatch(/ - +- .*refused$/);
});

test('every machine of a turn is READY and of no other turn', () => {
  const machines = Array.from({ length: turnsIn(10_000) }, (_none, turn) => machineOfTurn(turn));
  expect(new Set(machines).size).toBe(machines.length);
  expect(machines.filter((index) => index % 10 === 0 || index >= 10_000)).toEqual([]);
  expect(machines.length).toBeGreaterThan(CALLS.length * 20);
});

test('no two calls have one name', () => {
  const names = CALLS.map(callName);
  expect(new Set(names).size).toBe(names.length);
});

test('a larger fleet has as much of each machine until there is too much of it', () => {
  expect(readGrowthArguments(['--fleets', '1000,2000', '--most-events', '150000']).fleets).toEqual([
    { machines: 1_000, operations: 10_000, events: 100_000 },
    { machines: 2_000, operations: 20_000, events: 150_000 },
  ]);
  expect(() => readGrowthArguments(['--fleets', '20,10'])).toThrow(ArgumentError);
});
