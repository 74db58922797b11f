import { describe, expect, it } from 'vitest';
import { sampleGridMachine as sample } from './grid-machine.fixture.ts';
import { RolloutMachines } from './rollout-machines.ts';

describe('the machines of a rollout', () => {
  it('change in place, and a new one comes last in its wave', () => {
    const machines = new RolloutMachines();
    machines.replaceAll([sample('b'), sample('a'), sample('c', { wave: 2 })]);
    const before = machines.list;
    machines.apply([sample('a', { state: 'running' }), sample('new')]);
    expect(machines.list.map(({ machineId, state }) => `${machineId} ${state}`)).toEqual([
      'b pending',
      'a running',
      'new pending',
      'c pending',
    ]);
    expect(before.map(({ machineId }) => machineId)).toEqual(['b', 'a', 'c']);
    machines.apply([sample('c', { wave: 2, state: 'failed' })]);
    expect(machines.list[3]?.state).toBe('failed');
    expect(machines.list).toHaveLength(4);
  });
});
