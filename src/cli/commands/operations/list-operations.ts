import { Command } from 'commander';
import { allOf, equals } from '../../../client/filter-text.ts';
import type { CommandContext } from '../../command-context.ts';
import { pagesOf } from '../../connection/pages.ts';
import { addExamples, addLimit, addOutput, addTableChoice } from '../../input/options.ts';
import type { OperationSource } from '../../operations/operation-source.ts';
import { isForPeople, type OutputFormat, type TableChoice, writeList } from '../../output/format.ts';
import { operationRendering } from '../../rendering/operation-rendering.ts';

interface ListOptions extends TableChoice {
  readonly output: OutputFormat;
  readonly filter?: string;
  readonly machine?: string;
  readonly limit?: number;
}

export function listOperations(
  context: CommandContext,
  source: OperationSource,
  name: 'ops' | 'list',
): Command {
  const command = new Command(name)
    .description(`List all ${source.noun}s, newest first`)
    .option('--filter <filter>', `for example: phase=FAILED AND type=${source.exampleType}`)
    .option('-m, --machine <machine-id>', 'only of this machine');
  const path = source.noun === 'run' ? 'run list' : name === 'ops' ? 'ops' : 'op list';
  addExamples(command, context.program, [
    `${path} --filter 'phase=FAILED AND type=${source.exampleType}'`,
    `${path} -m machine-1 --limit 5`,
  ]);
  return addTableChoice(addOutput(addLimit(command))).action(
    context.action<ListOptions>(async ({ options, api }) => {
      const filter = allOf([options.filter, options.machine && equals('machine_id', options.machine)]);
      const pages = pagesOf((page) => source.list(api, { filter, ...page }), options.limit);
      const rendering = operationRendering(source, context.now());
      const count = await writeList(context.out, options.output, rendering, pages, options);
      if (count === 0 && isForPeople(options.output))
        context.err.line(filter === '' ? `no ${source.noun}s yet` : `no ${source.noun} matches`);
      return 'ok';
    }),
  );
}
