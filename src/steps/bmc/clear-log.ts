import { z } from 'zod';
import { callOf, type StepKind } from '../step-kind.ts';

const config = z.object({});
type Config = z.output<typeof config>;

/** Clears the log of hardware events that the BMC keeps. Events that come while it is cleared may stay in it. */
export const clearLog: StepKind<Config, 'bmc'> = {
  kind: 'clear-log',
  needs: () => ['bmc'],
  config: config as z.ZodType<Config>,
  title: 'Clearing the log of the BMC',
  doneTitle: 'Log of the BMC cleared',
  canUndo: false,
  handler: (_config, { machine, capabilities: { bmc } }) => ({
    async observe(context) {
      const { before } = context.memo;
      if (before === undefined) return { seen: 'absent' };
      const left = await bmc.logEntries(callOf(context, machine));
      const isCleared = left !== null && left < Number(before);
      return isCleared ? { seen: 'done', message: clearedText(Number(before)) } : { seen: 'absent' };
    },
    async act(context) {
      const call = callOf(context, machine);
      const entries = await bmc.logEntries(call);
      if (entries === 0) return { result: 'done', message: 'the log has no entries' };
      await context.save({ before: Number(context.memo.before ?? entries ?? 0) });
      await context.effect(() => bmc.clearLog(call));
      return { result: 'done', message: clearedText(Number(context.memo.before ?? entries ?? 0)) };
    },
  }),
};

function clearedText(entries: number): string {
  if (entries === 0) return 'the log is cleared';
  return `${entries} ${entries === 1 ? 'entry is' : 'entries are'} cleared`;
}
