import { describe, expect, it } from 'vitest';
import { sampleGridMachine as sample } from './grid-machine.fixture.ts';
import { ALL_MACHINES, countsBySteps, isChosen } from './machine-choice.ts';

const machines = [
  sample('pending'),
  sample('rebooting', { state: 'running', step: 2 }),
  sample('broken', { state: 'failed', step: 2, errorCode: 'IMAGE_NOT_FOUND' }),
  sample('done', { state: 'succeeded', step: 4 }),
  sample('later', { wave: 2 }),
];
const chosen = (choice: Partial<typeof ALL_MACHINES>) =>
  machines
    .filter((machine) => isChosen({ ...ALL_MACHINES, ...choice }, machine))
    .map(({ machineId }) => machineId);

describe('a choice of machines', () => {
  it('is by state, wave, step and error', () => {
    expect(chosen({})).toHaveLength(5);
    expect(chosen({ state: 'pending' })).toEqual(['pending', 'later']);
    expect(chosen({ state: 'pending', wave: 2 })).toEqual(['later']);
    expect(chosen({ step: 2 })).toEqual(['rebooting', 'broken']);
    // A machine that has not started is at no step.
    expect(chosen({ step: 1 })).toEqual([]);
    expect(chosen({ errorCode: 'IMAGE_NOT_FOUND' })).toEqual(['broken']);
  });

  it('counts the machines at each step, and those that are past it', () => {
    expect(countsBySteps(machines, 3)).toEqual([
      { running: 0, failed: 0, passed: 3 },
      { running: 1, failed: 1, passed: 1 },
      { running: 0, failed: 0, passed: 1 },
    ]);
  });
});
