import { z } from 'zod';
import { callOf, type StepKind } from '../step-kind.ts';

const config = z.object({});
type Config = z.output<typeof config>;

/**
 * From here on the replacement is the machine. The old hardware keeps no right to report for it: its agent's token and its
 * boots are forgotten first, so that a crash leaves nothing of them.
 */
export const finishMigration: StepKind<Config, never> = {
  kind: 'finish-migration',
  needs: () => [],
  config: config as z.ZodType<Config>,
  title: 'Finishing the migration',
  doneTitle: 'Migration finished',
  canUndo: false,
  handler: (_config, { machine, controlPlane }) => ({
    async observe(context) {
      const view = await controlPlane.hardware.read(callOf(context, machine));
      if (view?.state === 'migrating') return { seen: 'absent' };
      return { seen: 'done', message: 'the replacement is the machine' };
    },
    async act(context) {
      const call = callOf(context, machine);
      await context.effect(() => controlPlane.nodeServices.forgetSecrets(call));
      context.log('The agent of the old hardware is forgotten; one of the replacement needs a new token');
      await context.effect(() => controlPlane.hardware.finish(call));
      return { result: 'started', reason: 'finishing', pollAfterMs: 1 };
    },
  }),
};
