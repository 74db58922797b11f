/**
 * A reset of the machine as a part of another step, with a memo of its own inside that step's memo. It is the reboot of the step kind
 * `reboot` over the BMC, and as safe: a replica that takes over goes on, and a cancel never leaves the machine off.
 */
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { Memo } from '../../domain/operation/step.ts';
import type { StepContext, StepHandler } from '../../engine/step-handler.ts';
import { reboot } from '../power/reboot.ts';
import type { StepEnvironment } from '../step-kind.ts';

export interface ResetWithin {
  /** The reset was started in this attempt. */
  isStarted(context: StepContext): boolean;
  observe(context: StepContext): ReturnType<StepHandler<MachineChange>['observe']>;
  act(context: StepContext): ReturnType<StepHandler<MachineChange>['act']>;
  undo(context: StepContext): ReturnType<StepHandler<MachineChange>['act']>;
}

export function resetWithin(environment: StepEnvironment<'power'>): ResetWithin {
  const { remoteExec } = environment.capabilities;
  const capabilities = { ...environment.capabilities, ...(remoteExec && { remoteExec }) };
  const handler = reboot.handler({ mode: 'bmc' }, { ...environment, capabilities } as StepEnvironment<
    'power' | 'remoteExec'
  >);
  return {
    isStarted: ({ memo }) => memo.reset !== undefined,
    observe: (context) => handler.observe(inner(context)),
    act: (context) => handler.act(inner(context)),
    undo: async (context) =>
      (await handler.undo?.(inner(context))) ?? { result: 'done', message: 'nothing was reset' },
  };
}

/** Its calls have keys of their own. */
function inner(context: StepContext): StepContext {
  return {
    ...context,
    step: `${context.step}-reset`,
    get memo() {
      return (context.memo.reset ?? {}) as Memo;
    },
    save: (reset) => context.save({ ...context.memo, reset }),
    effect: (work) => context.effect(work),
  };
}
