import { expect, it } from 'vitest';
import { planWaves } from './plan-waves.ts';

const machine = (machineId: string, limitGroup: string) => ({ machineId, limitGroup, waveGroup: '' });

/** With the number of pauses. */
function planned(...of: Parameters<typeof planWaves<ReturnType<typeof machine>>>) {
  const work = planWaves(...of);
  for (let pauses = 0; ; pauses += 1) {
    const { done, value } = work.next();
    if (done) return { waves: value, pauses };
  }
}

const ordered = (...machines: ReturnType<typeof machine>[]) =>
  planned({ sizes: ['rest'] }, machines).waves.flatMap((wave) =>
    wave.machines.map(({ machineId }) => machineId),
  );

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

it('pauses every few thousand machines, and never for a short list', () => {
  const many = Array.from({ length: 100_000 }, (_, n) => machine(`m-${n}`, `rack-${n % 500}`));
  const { waves, pauses } = planned({ sizes: ['rest'] }, many);
  expect(pauses).toBeGreaterThanOrEqual(2 * 19);
  expect(waves[0]?.machines.slice(499, 502).map(({ machineId }) => machineId)).toEqual([
    'm-499',
    'm-500',
    'm-501',
  ]);
  expect(planned({ by: 'location.rack', order: [] }, many).pauses).toBeGreaterThanOrEqual(2 * 19);
  expect(planned({ sizes: ['rest'] }, many.slice(0, 100)).pauses).toBe(0);
});
