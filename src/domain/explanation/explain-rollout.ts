/** The rollout that a machine is part of, in words. */
import type { RolloutMachineState, RolloutState } from '../rollout/rollout.ts';

export interface MachineInRollout {
  readonly rolloutId: string;
  readonly name: string;
  readonly state: RolloutState;
  readonly waitingFor: string;
  readonly wave: number;
  readonly machineState: RolloutMachineState;
  /** What the machine waits for, or why it failed. */
  readonly message: string;
}

/** One sentence; empty where it is part of none. */
export function rolloutSentence(part: MachineInRollout | null): string {
  if (part === null) return '';
  const { rolloutId, name, wave } = part;
  return `Rollout ${rolloutId} (${name}) ${doesTo(part)}, in wave ${wave}${because(part)}.`;
}

function doesTo({ machineState, state }: MachineInRollout): string {
  if (machineState === 'running') return 'works on it';
  if (machineState === 'failed') return `is ${state} and failed on it`;
  return `is ${state} and has not started on it`;
}

/** The reason of the machine itself comes before that of the whole rollout. */
function because({ message, waitingFor, machineState }: MachineInRollout): string {
  const why = message || (machineState === 'pending' ? waitingFor : '');
  return why === '' ? '' : `: ${why.replace(/\.$/, '')}`;
}
