/** What can be done to a rollout in which state, and why not. The server checks again. */
import type { RolloutState } from '../../../../src/domain/rollout/rollout.ts';
import type { Rollout, Wave } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { rolloutState, stateText, verbOf, waveState } from '../../rollout-view.ts';

export type RolloutActionName =
  | 'pause'
  | 'resume'
  | 'abort'
  | 'retry'
  | 'skip'
  | 'update-limits'
  | 'roll-back'
  | 'approve'
  | 'reject';

/** An action whose dialog is open, with what it is about. */
export type AskedAction =
  | { readonly action: 'pause' | 'resume' | 'abort' | 'update-limits' | 'roll-back' }
  | { readonly action: 'approve' | 'reject'; readonly wave: number }
  /** Empty: whatever the code, and all machines. */
  | { readonly action: 'retry'; readonly errorCode: string; readonly machineIds: readonly string[] }
  | { readonly action: 'skip'; readonly machineIds: readonly string[] };

/** Empty: it is available. */
export type WhyNot = (action: RolloutActionName) => string;

interface ActionInfo {
  readonly title: string;
  readonly effect: string;
  readonly states: readonly RolloutState[];
  /** What the states have in common, after "Only a rollout that". */
  readonly when: string;
}

const UNDER_WAY = ['running', 'paused', 'stopped'] as const satisfies readonly RolloutState[];

export const ROLLOUT_ACTIONS = {
  pause: {
    title: 'Pause',
    effect: 'Start no more machines; those under way end',
    states: ['running', 'scheduled'],
    when: 'runs can be paused',
  },
  resume: {
    title: 'Resume',
    effect: 'Start machines again',
    states: ['paused', 'stopped'],
    when: 'is paused or has stopped can be resumed',
  },
  retry: {
    title: 'Retry failed',
    effect: 'Let the machines that failed try again',
    states: [...UNDER_WAY, 'failed'],
    when: 'is under way or has failed can retry machines',
  },
  skip: {
    title: 'Skip machines',
    effect: 'Leave machines out that have not started',
    states: ['scheduled', ...UNDER_WAY],
    when: 'has not ended can skip machines',
  },
  'update-limits': {
    title: 'Change limits',
    effect: 'How many at a time, and how many failures stop it',
    states: ['scheduled', ...UNDER_WAY],
    when: 'has not ended has limits to change',
  },
  'roll-back': {
    title: 'Roll back',
    effect: 'A rollout that brings back what its machines had before',
    states: ['paused', 'stopped', 'succeeded', 'failed', 'aborted', 'expired'],
    when: 'starts nothing more can be rolled back: pause or abort it first',
  },
  abort: {
    title: 'Abort',
    effect: 'End it for good; nothing more starts',
    states: ['scheduled', ...UNDER_WAY],
    when: 'has not ended can be aborted',
  },
  approve: {
    title: 'Approve',
    effect: 'Open the gate of the wave',
    states: ['running', 'paused'],
    when: 'runs has waves to approve',
  },
  reject: {
    title: 'Reject',
    effect: 'Keep the gate of the wave closed',
    states: ['running', 'paused'],
    when: 'runs has waves to reject',
  },
} as const satisfies Record<RolloutActionName, ActionInfo>;

/** The buttons of the page, in their order. */
export const PAGE_ACTIONS = [
  'pause',
  'resume',
  'retry',
  'update-limits',
  'roll-back',
  'abort',
] as const satisfies readonly RolloutActionName[];

/** Why the state of the rollout does not allow it; empty if it does. */
export function whyNotNow(action: RolloutActionName, rollout: Rollout): string {
  const { states, when }: ActionInfo = ROLLOUT_ACTIONS[action];
  const state = rolloutState(rollout);
  if (!states.includes(state)) return `It is ${stateText(state)}. Only a rollout that ${when}.`;
  if (action === 'retry' && (rollout.machines?.failed ?? 0) === 0) return 'No machine has failed.';
  if (action === 'roll-back') return whyNoRollBack(rollout);
  return '';
}

/** Steps that leave a machine with something that it had otherwise before. */
const HAS_A_BEFORE = ['reimage', 'plan'];

function whyNoRollBack({ spec, machines }: Rollout): string {
  if (!spec?.steps.some((step) => HAS_A_BEFORE.includes(verbOf(step))))
    return 'Its steps change no image or parameters, so there is nothing to go back to.';
  const changed = (machines?.succeeded ?? 0) + (machines?.failed ?? 0);
  return changed === 0 ? 'It has not changed any machine.' : '';
}

/** The wave whose turn has come and whose gate is not open. */
export function waitingWave({ waves }: Rollout): Wave | undefined {
  return waves.find((wave) => waveState(wave) === 'waiting_for_approval');
}

/** Why this user may not open the gate of a wave; empty if they may. */
export function whyNotApprove(rollout: Rollout, wave: Wave, user: string): string {
  const creator = rollout.createdBy.slice(rollout.createdBy.indexOf(':') + 1);
  if (wave.gate !== 'second-person' || user !== creator) return '';
  const rule = wave.approvalRule === '' ? '' : ` (rule ${wave.approvalRule})`;
  return `You created the rollout: another person must approve the wave${rule}.`;
}
