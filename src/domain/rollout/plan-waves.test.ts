import { expect, it } from 'vitest';
import { planWaves } from './plan-waves.ts';

const machine = (machineId: string, limitGroup: string) => ({ machineId, limitGroup, waveGroup: '' });
const ordered = (...machines: ReturnType<typeof machine>[]) =>
  planWaves({ sizes: ['rest'] }, machines).flatMap((wave) => wave.machines.map(({ machineId }) => machineId));

it('takes one machine of each group, then the second of each, and keeps their order otherwise', () => {
  const rows = [
    ['a1', 'a'],
    ['a2', 'a'],
    ['b1', 'b'],
    ['a3', 'a'],
    ['c1', 'c'],
    ['b2', 'b'],
  ] as const;
  expect(ordered(...rows.map(([id, group]) => machine(id, group)))).toEqual([
    'a1',
    'b1',
    'c1',
    'a2',
    'b2',
    'a3',
  ]);
});

it('leaves machines of one group as they are', () => {
  expect(ordered(machine('b', ''), machine('a', ''), machine('c', ''))).toEqual(['b', 'a', 'c']);
  expect(ordered()).toEqual([]);
});
