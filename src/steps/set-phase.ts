import { z } from 'zod';
import type { StepKind } from './step-kind.ts';

const config = z.object({ phase: z.enum(['READY', 'MAINTENANCE']) });
type Config = z.output<typeof config>;

/** Its whole work is a change of the machine's row, which is written together with the step's completion. */
export const setPhase: StepKind<Config, never> = {
  kind: 'phase',
  needs: () => [],
  config: config as z.ZodType<Config>,
  title: 'Setting phase',
  doneTitle: 'Phase set',
  canUndo: false,
  instant: true,
  handler: ({ phase }) => ({
    async observe() {
      return { seen: 'done', message: `phase ${phase}`, change: { phase } };
    },
    async act() {
      return { result: 'done', message: `phase ${phase}`, change: { phase } };
    },
  }),
};
