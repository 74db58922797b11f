import type { MachineCounts, RolloutMachineState, RolloutState } from './rollout.ts';

/** In which states it does nothing more by itself, whatever happens. */
const ENDED_STATES = ['succeeded', 'failed', 'aborted', 'expired'] as const satisfies readonly RolloutState[];

export function isEnded(state: RolloutState): boolean {
  return (ENDED_STATES as readonly RolloutState[]).includes(state);
}

export const statesOfRollouts: readonly RolloutState[] = [
  'scheduled',
  'running',
  'paused',
  'stopped',
  'aborting',
  ...ENDED_STATES,
];

export const statesOfRolloutMachines = [
  'pending',
  'running',
  'succeeded',
  'failed',
  'skipped',
  'canceled',
  'ineligible',
] as const satisfies readonly RolloutMachineState[];

/** All that it changes or would change: without those that are not eligible. */
export function machinesIn({ ineligible: _ineligible, ...counts }: MachineCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
