import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { addOutput, addWaiting } from '../options.ts';
import { type OutputFormat, writeOne } from '../output/format.ts';
import { plainText } from '../output/plain-text.ts';
import { waitForWork } from '../wait-for-work.ts';
import { isFinished, type WorkApi } from '../work/work.ts';
import { workRendering } from '../work-rendering.ts';

interface CancelOptions {
  readonly output: OutputFormat;
  readonly reason?: string;
  readonly wait: boolean;
  readonly timeout: number;
  readonly quiet?: boolean;
}

export function cancelWork(context: CommandContext, source: WorkApi): Command {
  const command = new Command('cancel')
    .description(`Cancel active ${source.noun}`)
    .argument(`<${source.noun}-id>`)
    .option('--reason <text>', 'why; goes into the history');
  return addOutput(addWaiting(command, '10m', source.noun)).action(
    context.action<CancelOptions>(async ({ args: [id = ''], options, api }) => {
      const work = await source.cancel(api, id, options.reason ?? '');
      if (options.wait && !isFinished(work)) {
        const exit = await waitForWork({ context, api, source, work, options: { ...options, quiet: true } });
        // Canceled is what was asked for; that it ended otherwise is not.
        return exit === 'canceled' ? 'ok' : exit === 'ok' ? 'failed' : exit;
      }
      writeOne(context.out, options.output, workRendering(source, context.now()), work, () => {
        const state = isFinished(work) ? work.phase : `${work.phase} (cancel requested)`;
        context.out.line(`${source.title}: ${plainText(work.id)} ${state}`);
      });
      return !isFinished(work) || work.phase === 'CANCELED' ? 'ok' : 'failed';
    }),
  );
}
