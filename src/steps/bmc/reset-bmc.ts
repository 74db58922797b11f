import { z } from 'zod';
import { callOf, type StepKind } from '../step-kind.ts';

const config = z.object({});
type Config = z.output<typeof config>;

const POLL_AFTER_MS = 2_000;
/** A BMC that was asked to restart still answers for a while. */
const GOES_AWAY_WITHIN_MS = 10_000;

/**
 * Restarts the BMC; its machine goes on. It is done when the BMC answers again. After a crash between the reset and its record it is sent
 * again: nothing shows whether it was sent, and a second one does no harm.
 */
export const resetBmc: StepKind<Config, 'bmc'> = {
  kind: 'bmc-reset',
  needs: () => ['bmc'],
  config: config as z.ZodType<Config>,
  title: 'Restarting the BMC',
  doneTitle: 'BMC restarted',
  canUndo: false,
  handler: (_config, { machine, capabilities: { bmc } }) => ({
    async observe(context) {
      const { sentAt } = context.memo;
      if (sentAt === undefined) return { seen: 'absent' };
      const reason = 'waiting for the BMC to come back';
      const leftMs = Number(sentAt) + GOES_AWAY_WITHIN_MS - context.now().getTime();
      if (leftMs > 0) return { seen: 'under_way', reason, pollAfterMs: Math.max(POLL_AFTER_MS, leftMs) };
      const power = await bmc.power(callOf(context, machine));
      return { seen: 'done', message: `the BMC answers; power is ${power}` };
    },
    async act(context) {
      await context.effect(() => bmc.resetBmc(callOf(context, machine)));
      await context.save({ sentAt: context.now().getTime() });
      return { result: 'started', reason: 'waiting for the BMC to come back', pollAfterMs: POLL_AFTER_MS };
    },
  }),
};
