import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { addOutput, addQuiet, addTimeout } from '../options.ts';
import { type OutputFormat, writeOne } from '../output/format.ts';
import { waitForWork } from '../wait-for-work.ts';
import type { WorkApi } from '../work/work.ts';
import { workRendering, writeWorkDetail } from '../work-rendering.ts';

export function showWork(context: CommandContext, source: WorkApi): Command {
  const command = new Command('show')
    .alias('get')
    .description(`Show one ${source.noun} with its steps`)
    .argument(`<${source.noun}-id>`);
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [id = ''], options, api }) => {
      const work = await source.get(api, id);
      const now = context.now();
      writeOne(context.out, options.output, workRendering(source, now), work, () =>
        writeWorkDetail(context.out, source, work, now),
      );
      return 'ok';
    }),
  );
}

/** What a command that was detached goes on with. */
export function attachWork(context: CommandContext, source: WorkApi, name: 'watch' | 'attach'): Command {
  const command = new Command(name)
    .description(`Follow one ${source.noun} to its end; the exit code tells how it ended`)
    .argument(`<${source.noun}-id>`);
  return addOutput(addQuiet(addTimeout(command, '1h'))).action(
    context.action<{ output: OutputFormat; timeout: number; quiet?: boolean }>(
      async ({ args: [id = ''], options, api }) => {
        const work = await source.get(api, id);
        return waitForWork({ context, api, source, work, options });
      },
    ),
  );
}
