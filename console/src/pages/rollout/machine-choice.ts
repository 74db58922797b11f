/** Which of a rollout's machines the reader has asked for, and how many are where. */
import type { RolloutMachineState } from '../../../../src/domain/rollout/rollout.ts';
import type { GridMachine } from './rollout-machines.ts';

export interface MachineChoice {
  /** Null, 0 and empty: all. */
  readonly state: RolloutMachineState | null;
  readonly wave: number;
  readonly step: number;
  readonly errorCode: string;
}

export const ALL_MACHINES: MachineChoice = { state: null, wave: 0, step: 0, errorCode: '' };

export function isAll({ state, wave, step, errorCode }: MachineChoice): boolean {
  return state === null && wave === 0 && step === 0 && errorCode === '';
}

export function isChosen(choice: MachineChoice, machine: GridMachine): boolean {
  const { state, wave, step, errorCode } = choice;
  return (
    (state === null || machine.state === state) &&
    (wave === 0 || machine.wave === wave) &&
    (step === 0 || (machine.step === step && isAtStep(machine))) &&
    (errorCode === '' || (machine.errorCode === errorCode && machine.state === 'failed'))
  );
}

/** Where it has stopped or works; a machine that waits for its turn, or is through, is at no step. */
function isAtStep({ state }: GridMachine): boolean {
  return state === 'running' || state === 'failed' || state === 'canceled';
}

export interface StepCounts {
  running: number;
  failed: number;
  /** Machines that are past it. */
  passed: number;
}

/** For each step how many machines are at it, and how many are past it. */
export function countsBySteps(machines: readonly GridMachine[], steps: number): StepCounts[] {
  const counts: StepCounts[] = Array.from({ length: steps }, () => ({ running: 0, failed: 0, passed: 0 }));
  for (const { state, step } of machines) {
    if (state === 'pending' || state === 'skipped' || state === 'ineligible') continue;
    const passed = state === 'succeeded' ? steps : Math.min(steps, step - 1);
    for (const before of counts.slice(0, passed)) before.passed += 1;
    const current = counts[step - 1];
    if (current && state === 'running') current.running += 1;
    if (current && state === 'failed') current.failed += 1;
  }
  return counts;
}

/** These can be left out; what is under way ends first. */
export function canSkip({ state }: GridMachine): boolean {
  return state === 'pending' || state === 'failed';
}
