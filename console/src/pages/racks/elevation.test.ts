import { expect, it } from 'vitest';
import { racksOf, unitsOf } from './elevation.ts';

it.each([
  ['14', { from: 14, to: 14 }],
  ['U14', { from: 14, to: 14 }],
  ['14-15', { from: 14, to: 15 }],
  ['u15-u14', { from: 14, to: 15 }],
  ['', null],
  ['left', null],
  ['0', null],
  ['99', null],
])('the unit %s is %o', (unit, place) => expect(unitsOf(unit)).toEqual(place));

const machine = (machineId: string, rack: string, unit: string) => ({
  machineId,
  location: { site: 'ams', row: 'a', rack, unit },
});

it('racks are in the order that people count them, and their machines from the top', () => {
  const racks = racksOf([machine('c', 'r10', '1'), machine('a', 'r2', '3'), machine('b', 'r2', '20')]);
  expect(
    racks.map(({ rack, slots }) => [rack, slots.map(({ machine: { machineId } }) => machineId)]),
  ).toEqual([
    ['r2', ['b', 'a']],
    ['r10', ['c']],
  ]);
});

it('a machine whose place another one has, or that says none, is still there', () => {
  const [rack] = racksOf([machine('a', 'r1', '3-4'), machine('b', 'r1', '4'), machine('c', 'r1', '')]);
  expect(rack?.slots.map(({ machine: { machineId } }) => machineId)).toEqual(['a']);
  expect(rack?.others.map(({ machineId }) => machineId)).toEqual(['b', 'c']);
});
