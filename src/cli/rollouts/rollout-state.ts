/** The states of a rollout, of its waves and of its machines, as the command line shows them. */
import {
  type Rollout,
  Rollout_State,
  type RolloutMachine,
  RolloutMachine_State,
  type Wave,
  Wave_State,
} from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { Exit } from '../errors/exit-code.ts';
import type { Colour } from '../output/colour.ts';

interface StateInfo {
  readonly isOver: boolean;
  readonly mark: string;
  readonly colour: Colour | undefined;
  readonly exit: Exit;
}

/** `?` is a state that this version of the program does not know. */
const ROLLOUT_STATES = {
  '?': { isOver: false, mark: '?', colour: undefined, exit: 'stillRunning' },
  SCHEDULED: { isOver: false, mark: '…', colour: undefined, exit: 'stillRunning' },
  RUNNING: { isOver: false, mark: '→', colour: 'blue', exit: 'stillRunning' },
  PAUSED: { isOver: false, mark: '‖', colour: 'yellow', exit: 'stillRunning' },
  // It goes on only when a person decides so: for the command that follows it, that is an end.
  STOPPED: { isOver: false, mark: '✗', colour: 'red', exit: 'failed' },
  ABORTING: { isOver: false, mark: '⊘', colour: 'yellow', exit: 'stillRunning' },
  SUCCEEDED: { isOver: true, mark: '✓', colour: 'green', exit: 'ok' },
  FAILED: { isOver: true, mark: '✗', colour: 'red', exit: 'failed' },
  ABORTED: { isOver: true, mark: '⊘', colour: 'yellow', exit: 'canceled' },
  EXPIRED: { isOver: true, mark: '✗', colour: 'red', exit: 'failed' },
} as const satisfies Record<string, StateInfo>;

export type RolloutStateName = keyof typeof ROLLOUT_STATES;

export function rolloutState({ state }: Rollout): RolloutStateName {
  const name = Rollout_State[state] ?? '?';
  return Object.hasOwn(ROLLOUT_STATES, name) ? (name as RolloutStateName) : '?';
}

export function rolloutInfo(rollout: Rollout): StateInfo {
  return ROLLOUT_STATES[rolloutState(rollout)];
}

/** Nothing is under way, and nothing starts unless a person acts. */
export function isSettled(rollout: Rollout): boolean {
  const isStopped = rolloutState(rollout) === 'STOPPED' && (rollout.machines?.running ?? 0) === 0;
  return rolloutInfo(rollout).isOver || isStopped;
}

export function exitOfRollout(rollout: Rollout): Exit {
  return isSettled(rollout) ? rolloutInfo(rollout).exit : 'stillRunning';
}

const WAVE_STATES = {
  '?': { mark: '?', colour: undefined },
  WAITING: { mark: '·', colour: undefined },
  WAITING_FOR_APPROVAL: { mark: '‖', colour: 'yellow' },
  RUNNING: { mark: '→', colour: 'blue' },
  SOAKING: { mark: '~', colour: 'blue' },
  DONE: { mark: '✓', colour: 'green' },
} as const satisfies Record<string, { mark: string; colour: Colour | undefined }>;

export type WaveStateName = keyof typeof WAVE_STATES;

export function waveState({ state }: Pick<Wave, 'state'>): WaveStateName {
  const name = Wave_State[state] ?? '?';
  return Object.hasOwn(WAVE_STATES, name) ? (name as WaveStateName) : '?';
}

export function waveInfo(wave: Wave): { mark: string; colour: Colour | undefined } {
  const hasFailed = waveState(wave) === 'DONE' && (wave.machines?.failed ?? 0) > 0;
  return hasFailed ? { mark: '✗', colour: 'red' } : WAVE_STATES[waveState(wave)];
}

const MACHINE_STATES = {
  '?': { isOver: false, colour: undefined },
  PENDING: { isOver: false, colour: undefined },
  RUNNING: { isOver: false, colour: 'blue' },
  SUCCEEDED: { isOver: true, colour: 'green' },
  FAILED: { isOver: true, colour: 'red' },
  SKIPPED: { isOver: true, colour: 'gray' },
  CANCELED: { isOver: true, colour: 'yellow' },
  INELIGIBLE: { isOver: true, colour: 'red' },
} as const satisfies Record<string, { isOver: boolean; colour: Colour | undefined }>;

export type MachineStateName = keyof typeof MACHINE_STATES;

export function machineState({ state }: RolloutMachine): MachineStateName {
  const name = RolloutMachine_State[state] ?? '?';
  return Object.hasOwn(MACHINE_STATES, name) ? (name as MachineStateName) : '?';
}

export function machineInfo(machine: RolloutMachine): { isOver: boolean; colour: Colour | undefined } {
  return MACHINE_STATES[machineState(machine)];
}
