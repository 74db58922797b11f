import { z } from 'zod';
import type { InstantStep, StepKind } from './step-kind.ts';

const maintenance = z.object({
  durationMs: z.number().nullable(),
  reason: z.string(),
  by: z.string(),
  exitsByItself: z.boolean(),
});
const config = z.object({ phase: z.enum(['READY', 'MAINTENANCE']), maintenance: maintenance.optional() });
type Config = z.output<typeof config>;

/** Its whole work is a change of the machine's row, which is written together with the step's completion. */
export const setPhase: StepKind<Config, never> = {
  kind: 'phase',
  needs: () => [],
  config: config as z.ZodType<Config>,
  title: 'Setting phase',
  doneTitle: 'Phase set',
  canUndo: false,
  instant,
  handler: (settings) => {
    const { message, change } = instant(settings);
    return {
      async observe() {
        return { seen: 'done', message, change };
      },
      async act() {
        return { result: 'done', message, change };
      },
    };
  },
};

function instant({ phase, maintenance }: Config): InstantStep {
  return { message: `phase ${phase}`, change: { phase, ...(maintenance && { maintenance }) } };
}
