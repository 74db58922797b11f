import { z } from 'zod';
import { BURN_IN_TEST_NAMES, type BurnInTest, burnInText } from '../../domain/hardware/burn-in.ts';
import { callOf, type StepKind, undoCallOf } from '../step-kind.ts';
import { checkMaintenance, requireMaintenance } from './raid.ts';

const WEEK_SECONDS = 7 * 24 * 60 * 60;
const NAMES = BURN_IN_TEST_NAMES as [BurnInTest, ...BurnInTest[]];

const config = z.object({
  tests: z
    .array(z.enum(NAMES, `must be one of ${NAMES.join(', ')}`))
    .max(NAMES.length, 'must name each test once')
    .default([]),
  seconds: z
    .int('must be a whole number')
    .min(10, 'must be at least 10')
    .max(WEEK_SECONDS, 'must be at most a week')
    .default(3600),
});
type Config = z.output<typeof config>;

/** The machine boots Ingot's installer, which tests its parts for a time and writes nothing. It fails with the parts that failed. */
export const burnIn: StepKind<Config, 'burnIn'> = {
  kind: 'burn-in',
  needs: () => ['burnIn'],
  config: config as z.ZodType<Config>,
  title: 'Testing the hardware',
  doneTitle: 'Hardware tested',
  complete: (request, machine) => {
    checkMaintenance(machine, 'burn-in');
    return request;
  },
  canUndo: true,
  handler: ({ tests, seconds }, { machine, capabilities }) => ({
    async observe(context) {
      const found = await capabilities.burnIn.state(callOf(context, machine));
      if (found === null) return { seen: 'absent' };
      const message = burnInText(found);
      switch (found.state) {
        case 'ordered':
          return {
            seen: 'under_way',
            reason: 'waiting for the machine to boot its installer',
            pollAfterMs: found.pollAfterMs,
          };
        case 'running':
          return {
            seen: 'under_way',
            reason: `testing ${found.tests.join(', ')}`,
            pollAfterMs: found.pollAfterMs,
            progress: found.percent,
          };
        case 'passed':
          for (const { part, result, detail } of found.results) context.log(`${part}: ${result}: ${detail}`);
          return { seen: 'done', message };
        case 'failed':
          return { seen: 'failed', failure: { class: 'needs_human', code: 'BURN_IN_FAILED', message } };
      }
    },
    async act(context) {
      requireMaintenance(machine);
      const request = {
        purpose: 'test' as const,
        tests: tests.length === 0 ? BURN_IN_TEST_NAMES : tests,
        seconds,
      };
      await context.effect(() => capabilities.burnIn.start(callOf(context, machine), request));
      return { result: 'started', reason: 'waiting for the machine to boot its installer', pollAfterMs: 1 };
    },
    async undo(context) {
      await context.effect(() => capabilities.burnIn.stop(undoCallOf(context, machine)));
      return { result: 'done', message: 'nothing more is tested; the machine boots from its disk next' };
    },
  }),
};
