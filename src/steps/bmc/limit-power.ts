import { z } from 'zod';
import { limitWatts } from '../../domain/hardware/power-reading.ts';
import { callOf, type StepKind } from '../step-kind.ts';

const config = z.object({
  /** Null: no limit. */
  watts: z
    .number()
    .nullable()
    .refine((watts) => watts === null || limitWatts(watts) !== null, 'must be a whole number of watts'),
});
type Config = z.output<typeof config>;

/** How much power the machine may draw. The limit is read back. */
export const limitPower: StepKind<Config, 'bmc'> = {
  kind: 'power-cap',
  needs: () => ['bmc'],
  config: config as z.ZodType<Config>,
  title: 'Setting the power cap',
  doneTitle: 'Power cap set',
  canUndo: false,
  handler: ({ watts }, { machine, capabilities: { bmc } }) => ({
    async observe(context) {
      const { limitWatts: set } = await bmc.powerReading(callOf(context, machine));
      if (set !== watts) return { seen: 'absent' };
      return {
        seen: 'done',
        message: watts === null ? 'there is no power cap' : `the power cap is ${watts} W`,
      };
    },
    async act(context) {
      await context.effect(() => bmc.setPowerLimit(callOf(context, machine), watts));
      return { result: 'started', reason: 'the power cap is being set', pollAfterMs: 0 };
    },
  }),
};
