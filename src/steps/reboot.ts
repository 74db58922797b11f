import { z } from 'zod';
import { callOf, type StepKind } from './step-kind.ts';

const config = z.object({ mode: z.enum(['bmc', 'ssh']).default('bmc') });
type Config = z.output<typeof config>;

/**
 * Remembers which boot the machine was in, then resets it. It is done when the machine is up in another boot, so
 * a crash between the reset and its record can't cause a second one.
 */
export const reboot: StepKind<Config, 'power'> = {
  kind: 'reboot',
  needs: () => ['power'],
  config: config as z.ZodType<Config>,
  title: 'Rebooting machine',
  doneTitle: 'Reboot complete',
  canUndo: false,
  handler: ({ mode }, { machine, can }) => ({
    async observe(context) {
      const { bootIdBefore } = context.memo;
      if (bootIdBefore === undefined) return { seen: 'absent' };
      const boot = await can.power.bootState(callOf(context, machine));
      if (!boot.ready) {
        return {
          seen: 'under_way',
          reason: 'waiting for the machine to come back',
          lookAgainMs: boot.lookAgainMs,
        };
      }
      if (boot.bootId === bootIdBefore) return { seen: 'absent' };
      return {
        seen: 'done',
        message: 'the machine is back',
        change: {
          conditions: [
            {
              type: 'Reachable',
              status: true,
              reason: 'RebootVerified',
              message: 'came back after a reboot',
            },
          ],
        },
      };
    },
    async act(context) {
      const call = callOf(context, machine);
      if (context.memo.bootIdBefore === undefined) {
        const before = await can.power.bootState(call);
        await context.save({ bootIdBefore: before.bootId });
      }
      await context.effect(() => can.power.reboot(call, mode));
      return { result: 'started', reason: 'waiting for the machine to come back', lookAgainMs: 0 };
    },
  }),
};
