import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { allOf, equals } from '../filter.ts';
import { addLimit, addOutput } from '../options.ts';
import { isForPeople, type OutputFormat, writeList } from '../output/format.ts';
import { pagesOf } from '../pages.ts';
import type { WorkApi } from '../work/work.ts';
import { workRendering } from '../work-rendering.ts';

interface ListOptions {
  readonly output: OutputFormat;
  readonly filter?: string;
  readonly machine?: string;
  readonly limit?: number;
}

export function listWork(context: CommandContext, source: WorkApi, name: 'ops' | 'list'): Command {
  const command = new Command(name)
    .description(`List all ${source.noun}s, newest first`)
    .option('--filter <filter>', `for example: phase=FAILED AND type=${source.exampleType}`)
    .option('-m, --machine <machine-id>', 'of this machine only');
  return addOutput(addLimit(command)).action(
    context.action<ListOptions>(async ({ options, api }) => {
      const filter = allOf([options.filter, options.machine && equals('machine_id', options.machine)]);
      const pages = pagesOf((page) => source.list(api, { filter, ...page }), options.limit);
      const rendering = workRendering(source, context.now());
      const count = await writeList(context.out, options.output, rendering, pages);
      if (count === 0 && isForPeople(options.output))
        context.err.line(filter === '' ? `no ${source.noun}s yet` : `no ${source.noun} matches`);
      return 'ok';
    }),
  );
}
