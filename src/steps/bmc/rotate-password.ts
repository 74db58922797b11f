/**
 * Replaces the password of the BMC's account, on the BMC and where it is kept. Each of the three acts happens or does not, and what has
 * happened is found by asking: a new password that waits beside the old one, a BMC that takes it, and none that waits any more. Before the
 * BMC is changed both passwords are kept, so no crash loses one. The memo says only which act was started last: it decides which password
 * is tried first, because BMCs lock accounts after a few wrong ones.
 */
import { z } from 'zod';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { StepContext, StepHandler } from '../../engine/step-handler.ts';
import type { PasswordState } from '../../providers/bmc-administration.ts';
import { callOf, type StepEnvironment, type StepKind, undoCallOf } from '../step-kind.ts';

const config = z.object({});
type Config = z.output<typeof config>;

export const rotatePassword: StepKind<Config, 'bmc'> = {
  kind: 'rotate-password',
  needs: () => ['bmc'],
  config: config as z.ZodType<Config>,
  title: 'Rotating the password of the BMC',
  doneTitle: 'Password rotated',
  canUndo: true,
  handler: (_config, environment) => rotation(environment),
};

const REASON = 'the password is being rotated';
/** How often an act whose effect is not seen is repeated. */
const MAX_AGAIN = 2;
const NOT_TAKEN = {
  class: 'needs_human',
  code: 'AUTHENTICATION_FAILED',
  message: 'the BMC accepts the new password and does not take it afterwards; it takes the old one',
} as const;

function rotation({ machine, capabilities: { bmc } }: StepEnvironment<'bmc'>): StepHandler<MachineChange> {
  return {
    async observe(context) {
      const { started, again } = context.memo;
      // Which password the BMC takes is asked once for each act.
      if (started !== 'promote') return again ? { seen: 'absent' } : { seen: 'absent', next: true };
      const state = await bmc.passwordState(callOf(context, machine), likelyOf(context));
      if (state !== 'none') return { seen: 'absent' };
      return { seen: 'done', message: 'the BMC takes the new password, and it is kept' };
    },
    async act(context) {
      const call = callOf(context, machine);
      const state = await bmc.passwordState(call, likelyOf(context));
      const { started, again } = context.memo;
      const times = started === NEXT[state] ? Number(again ?? 0) + 1 : 0;
      if (times > MAX_AGAIN) return { result: 'failed', failure: NOT_TAKEN };
      await context.save({ started: NEXT[state], again: times });
      switch (state) {
        case 'none':
          await context.effect(() => bmc.preparePassword(call));
          break;
        case 'prepared':
          await context.effect(() => bmc.changePassword(call));
          break;
        case 'changed':
          await context.effect(() => bmc.promotePassword(call));
          break;
      }
      return { result: 'started', reason: REASON, pollAfterMs: 0 };
    },
    /** What the BMC takes stays; what it does not take is forgotten. */
    async undo(context) {
      const call = undoCallOf(context, machine);
      switch (await bmc.passwordState(call, likelyOf(context))) {
        case 'none':
          return { result: 'done', message: 'no password waits' };
        case 'prepared':
          await context.effect(() => bmc.dropPassword(call));
          break;
        case 'changed':
          await context.effect(() => bmc.promotePassword(call));
          break;
      }
      return { result: 'started', reason: 'the rotation is being ended', pollAfterMs: 20 };
    },
  };
}

const NEXT = {
  none: 'prepare',
  prepared: 'change',
  changed: 'promote',
} as const satisfies Record<PasswordState, string>;

function likelyOf({ memo }: StepContext): 'old' | 'new' {
  return memo.started === 'change' || memo.started === 'promote' ? 'new' : 'old';
}
