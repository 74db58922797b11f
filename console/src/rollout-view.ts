/** A rollout of the API with its enums as the state names of src/domain. */
import type { RolloutMachineState, RolloutState, WaveState } from '../../src/domain/rollout/rollout.ts';
import { isEnded as isEndedState } from '../../src/domain/rollout/rollout-state.ts';
import {
  type MachineCounts,
  type RolloutMachine_State as MachineState,
  type Rollout,
  Rollout_State,
  RolloutMachine_State,
  type RolloutStep,
  type Wave,
  Wave_State,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';

export function rolloutState({ state }: Rollout): RolloutState {
  return Rollout_State[state].toLowerCase() as RolloutState;
}

export function waveState({ state }: Wave): WaveState {
  return Wave_State[state].toLowerCase() as WaveState;
}

export function machineState(state: MachineState): RolloutMachineState {
  return RolloutMachine_State[state].toLowerCase() as RolloutMachineState;
}

export function isEnded(rollout: Rollout): boolean {
  return isEndedState(rolloutState(rollout));
}

/** The filter of those that have not ended. */
export const UNDER_WAY =
  'state=SCHEDULED OR state=RUNNING OR state=PAUSED OR state=STOPPED OR state=ABORTING';

export function titleOf({ spec, rolloutId }: Rollout): string {
  return spec?.name || rolloutId;
}

/** The verb of a step, as the CLI and the API's JSON write it. */
export function verbOf({ step }: RolloutStep): string {
  return (step.case ?? '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** In the order in which a machine goes through them; those that are left out last. */
export const MACHINE_STATES = [
  'failed',
  'running',
  'pending',
  'succeeded',
  'skipped',
  'canceled',
  'ineligible',
] as const satisfies readonly RolloutMachineState[];

/** As people read them. */
export const MACHINE_STATE_WORDS = {
  pending: 'pending',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  skipped: 'skipped',
  canceled: 'canceled',
  ineligible: 'not eligible',
} as const satisfies Record<RolloutMachineState, string>;

export function countOf(counts: MachineCounts | undefined, state: RolloutMachineState): number {
  return counts?.[state] ?? 0;
}

/** Machines that need no more work, whatever came of them. */
export function finishedOf(counts: MachineCounts | undefined): number {
  if (!counts) return 0;
  return counts.total - counts.pending - counts.running;
}

/** For badges: WAITING FOR APPROVAL. */
export function stateText(state: string): string {
  return state.toUpperCase().replaceAll('_', ' ');
}
