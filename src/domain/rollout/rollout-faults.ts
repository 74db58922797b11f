/** The refusals of rollouts, and of actions on them. */
import { Fault } from '../error/fault.ts';
import type { RolloutState } from './rollout.ts';

export function rolloutNotFound(rolloutId: string): Fault {
  return new Fault('ROLLOUT_NOT_FOUND', {
    message: `there is no rollout ${rolloutId}`,
    metadata: { rollout_id: rolloutId },
  });
}

export function rolloutEnded(rolloutId: string, state: RolloutState): Fault {
  return new Fault('ROLLOUT_ENDED', {
    message: `${rolloutId} has already ended (${state})`,
    // Only one that failed has machines to retry.
    metadata: { rollout_id: rolloutId, state, ...(state === 'failed' && { failed_rollout_id: rolloutId }) },
    violations: [{ subject: `rollouts/${rolloutId}`, description: `is ${state}` }],
  });
}

/** `needs` completes the sentence: "only a paused or stopped rollout can be resumed". */
export function wrongRolloutState(rolloutId: string, state: RolloutState, needs: string): Fault {
  return new Fault('WRONG_ROLLOUT_STATE', {
    message: `${rolloutId} is ${state}: ${needs}`,
    metadata: { rollout_id: rolloutId, state },
    violations: [{ subject: `rollouts/${rolloutId}`, description: `is ${state}` }],
  });
}

/** Wave 0: no wave waits. */
export function waveNotWaiting(rolloutId: string, wave: number): Fault {
  const which = wave === 0 ? 'no wave waits' : `wave ${wave} does not wait`;
  return new Fault('WAVE_NOT_WAITING', {
    message: `${rolloutId}: ${which} for approval`,
    metadata: { rollout_id: rolloutId, wave: String(wave) },
    violations: [{ subject: `rollouts/${rolloutId}`, description: `${which} for approval` }],
  });
}

export function noEligibleMachines(why: string): Fault {
  return new Fault('NO_ELIGIBLE_MACHINES', {
    message: `the rollout would change no machine: ${why}`,
    violations: [{ subject: 'spec', description: why }],
  });
}

export function nothingToRollBack(rolloutId: string, why: string): Fault {
  return new Fault('NOTHING_TO_ROLL_BACK', {
    message: `${rolloutId} can't be rolled back: ${why}`,
    metadata: { rollout_id: rolloutId },
    violations: [{ subject: `rollouts/${rolloutId}`, description: why }],
  });
}
