/** What becomes of the machines under way: by the end of their operation, or by what was observed. */

import type { RolloutStep } from '../spec/rollout-spec.ts';
import type { EndedMachine, MachineInView, MachineMove, ObservedMachine, PassView } from './pass-view.ts';

/** The code of a machine that did not become well in time. */
const NOT_VERIFIED = 'NOT_VERIFIED';
/** The code of a machine whose operation was canceled by other means than the rollout. */
export const CANCELED = 'CANCELED';

export function movesOfMachines(view: PassView): MachineMove[] {
  return [
    ...view.ended.map((machine) => afterOperation(machine, view)),
    ...view.recovered.map((machine) => recovered(machine, view)),
    ...view.observed.flatMap((machine) => afterObservation(machine, view) ?? []),
    ...(view.state === 'aborting' ? view.continuing.map((machine) => abandoned(machine)) : []),
  ];
}

export function startsOperation(step: RolloutStep | undefined): boolean {
  return step !== undefined && step.verb !== 'verify';
}

/** The machine goes on to its next step, or is done. */
function stepDone(machine: MachineInView, { spec, now }: Pick<PassView, 'spec' | 'now'>): MachineMove {
  const step = machine.step + 1;
  const isDone = step >= spec.steps.length;
  return { ...staying(machine), to: isDone ? 'succeeded' : 'running', step, stepSince: now };
}

/** Its next step starts within the limits, as that of a machine that waits for its turn. */
function recovered(machine: MachineInView, view: PassView): MachineMove {
  const { to, ...move } = stepDone(machine, view);
  return { ...move, from: 'failed', to: to === 'running' ? 'pending' : to };
}

function afterOperation(machine: EndedMachine, view: PassView): MachineMove {
  const { result } = machine;
  if (result.outcome === 'succeeded')
    return view.state === 'aborting' && machine.step + 1 < view.spec.steps.length
      ? abandoned({ ...machine, step: machine.step + 1 })
      : stepDone(machine, view);
  const to = result.outcome === 'canceled' && view.state === 'aborting' ? 'canceled' : 'failed';
  return { ...staying(machine), to, errorCode: result.errorCode, message: result.message };
}

function afterObservation(machine: ObservedMachine, view: PassView): MachineMove | null {
  if (view.state === 'aborting') return abandoned(machine);
  const step = view.spec.steps[machine.step];
  if (step?.verb !== 'verify') return null;
  const { matches, matchesSince, stepSince } = machine;
  const now = view.now.getTime();
  if (matches && now - (matchesSince ?? view.now).getTime() >= step.forMs) return stepDone(machine, view);
  if (now - stepSince.getTime() >= step.timeoutMs) {
    const message = `${step.filter} did not hold for ${step.forMs / 1000} s within ${step.timeoutMs / 1000} s`;
    return { ...staying(machine), to: 'failed', errorCode: NOT_VERIFIED, message };
  }
  if (matches === (matchesSince !== null)) return null;
  return { ...staying(machine), matchesSince: matches ? view.now : null, stepSince };
}

/** The rollout was aborted before its next step. */
function abandoned(machine: MachineInView): MachineMove {
  const message = `the rollout was aborted before step ${machine.step + 1} of this machine`;
  return { ...staying(machine), to: 'canceled', message };
}

function staying({ machineId, wave, step }: MachineInView): MachineMove {
  return {
    machineId,
    wave,
    step,
    from: 'running',
    to: 'running',
    errorCode: '',
    message: '',
    matchesSince: null,
    stepSince: null,
  };
}
