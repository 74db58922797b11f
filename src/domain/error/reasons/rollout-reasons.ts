/** Why a rollout, or an action on one, is refused. */
import type { ReasonRow } from './reason-row.ts';

const SHOW = ['{ingot} rollout show {rollout_id}'] as const;

export const ROLLOUT_REASONS = {
  ROLLOUT_NOT_FOUND: {
    kind: 'not_found',
    message: 'there is no rollout <rollout_id>',
    cause: "no rollout has the id, or it is outside of the caller's scope",
    fix: 'list the rollouts',
    commands: ['{ingot} rollout list'],
  },
  ROLLOUT_ENDED: {
    kind: 'failed_precondition',
    message: '<rollout_id> has already ended (<state>)',
    cause: 'a rollout that has ended starts nothing any more',
    fix: 'see how it ended. Of one that failed, retry the failed machines; after any other end, start another rollout',
    commands: [...SHOW, '{ingot} rollout retry {failed_rollout_id}'],
  },
  WRONG_ROLLOUT_STATE: {
    kind: 'failed_precondition',
    message: '<rollout_id> is <state>: <what the action needs>',
    cause: 'the action does not fit the state of the rollout; the table is in docs/rollouts.md',
    fix: 'choose an action that fits',
    commands: SHOW,
  },
  WAVE_NOT_WAITING: {
    kind: 'failed_precondition',
    message: '<rollout_id>: wave <wave> does not wait for approval',
    cause: 'its gate is open, its turn has not come, or there is no such wave',
    fix: 'see which wave waits',
    commands: SHOW,
  },
  NO_ELIGIBLE_MACHINES: {
    kind: 'failed_precondition',
    message: 'the rollout would change no machine: <why>',
    cause: 'no machine matches, or each of them is refused for a reason of its own',
    fix: 'preview the rollout: it shows each reason',
    commands: ['{ingot} rollout preview -f <file>'],
  },
  NOTHING_TO_ROLL_BACK: {
    kind: 'failed_precondition',
    message: "<rollout_id> can't be rolled back: <why>",
    cause: 'it has changed no machine yet, or its steps have nothing that was there before',
    fix: 'start a rollout with the steps that undo it',
    commands: SHOW,
  },
} as const satisfies Record<string, ReasonRow>;
