import { expect, it } from 'vitest';
import { KeptMachines } from './kept-machines.ts';

const AT = '2026-11-19T05:00:00.000000+00:00';

function row(machineId: string, phase: string): string {
  const nothing = null;
  return JSON.stringify([
    ...[machineId, { rack: 'r1' }, {}, phase, nothing, nothing, nothing, nothing, {}, nothing, nothing],
    ...[nothing, 0, nothing, nothing, nothing, nothing, AT, AT, AT, AT, AT],
  ]);
}

it('a row that reads as before is the same machine, and one that changed is another', () => {
  const kept = new KeptMachines();
  const first = kept.of('m-1', row('m-1', 'READY'));
  expect(first).toMatchObject({ machineId: 'm-1', phase: 'READY', labels: { rack: 'r1' } });
  expect(kept.of('m-1', row('m-1', 'READY'))).toBe(first);
  const changed = kept.of('m-1', row('m-1', 'MAINTENANCE'));
  expect(changed.phase).toBe('MAINTENANCE');
  expect(kept.of('m-1', row('m-1', 'READY'))).not.toBe(first);
});

it('keeps those that were read last, and not more than 2,000', () => {
  const kept = new KeptMachines();
  const read = (index: number) => kept.of(`m-${index}`, row(`m-${index}`, 'READY'));
  const first = read(0);
  for (let index = 1; index < 1_500; index += 1) read(index);
  expect(read(0)).toBe(first);
  for (let index = 1_500; index < 4_000; index += 1) read(index);
  expect(read(0)).not.toBe(first);
});
