import { z } from 'zod';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import { StepFailure, type StepHandler, wasNotCarriedOut } from '../../engine/step-handler.ts';
import { callOf, type StepEnvironment, type StepKind } from '../step-kind.ts';
import { CAME_BACK, rebootBySwitching } from './reboot-by-switching.ts';

const config = z.object({ mode: z.enum(['bmc', 'ssh']).default('bmc') });
type Config = z.output<typeof config>;

export const reboot: StepKind<Config, 'power' | 'remoteExec'> = {
  kind: 'reboot',
  // A reboot over SSH must reach the operating system.
  needs: ({ mode }) => (mode === 'ssh' ? ['power', 'remoteExec'] : ['power']),
  config: config as z.ZodType<Config>,
  title: 'Rebooting machine',
  doneTitle: 'Reboot complete',
  canUndo: true,
  handler: ({ mode }, environment) => {
    const switches = mode === 'bmc' && environment.capabilities.power.switchPower !== undefined;
    return switches ? rebootBySwitching(environment) : rebootByAsking(environment, mode);
  },
};

/**
 * Remembers which boot the machine was in, then resets it. It is done when the machine is up in another boot, so
 * a crash between the reset and its record can't cause a second one.
 */
function rebootByAsking(
  { machine, capabilities }: StepEnvironment<'power'>,
  mode: Config['mode'],
): StepHandler<MachineChange> {
  const { power } = capabilities;
  const reason = 'waiting for the machine to come back';
  return {
    async observe(context) {
      const { bootIdBefore, askedAt } = context.memo;
      if (bootIdBefore === undefined) return { seen: 'absent' };
      const boot = await power.bootState(callOf(context, machine));
      const wait = { seen: 'under_way', reason, pollAfterMs: boot.pollAfterMs } as const;
      if (!boot.ready) return wait;
      if (boot.bootId !== bootIdBefore) {
        return { seen: 'done', message: 'the machine is back', change: CAME_BACK };
      }
      const sinceMs = context.now().getTime() - Number(askedAt ?? 0);
      return sinceMs < (power.goesDownWithinMs ?? 0) ? wait : { seen: 'absent' };
    },
    async act(context) {
      const call = callOf(context, machine);
      const { bootId, hostProblem } = await power.bootState(call);
      if (bootId === null) throw hostProblem ?? BOOT_UNKNOWN;
      const { memo } = context;
      const bootIdBefore = String(memo.bootIdBefore ?? bootId);
      await context.save({ bootIdBefore, askedAt: context.now().getTime() });
      try {
        await context.effect(() => power.reboot(call, mode, bootIdBefore));
      } catch (error) {
        // Not asked, so it does not go down by itself.
        if (wasNotCarriedOut(error)) await context.save(memo);
        throw error;
      }
      return { result: 'started', reason, pollAfterMs: 0 };
    },
    async undo() {
      return { result: 'done', message: 'a reboot ends by itself' };
    },
  };
}

const BOOT_UNKNOWN = new StepFailure({
  class: 'retryable',
  code: 'HOST_UNREACHABLE',
  message:
    'the host does not say which boot it is in, or boots from the network next: it can only be rebooted over its BMC',
});
