import { Command } from 'commander';
import type { Operation } from '../../gen/baremetal/v2/operation_pb.ts';
import type { Api } from '../api.ts';
import type { CommandContext } from '../context.ts';
import { allOf, equals } from '../filter.ts';
import { operationRendering } from '../operation-rendering.ts';
import { addLimit, addOutput } from '../options.ts';
import { isForPeople, type OutputFormat, writeList } from '../output/format.ts';
import { pagesOf } from '../pages.ts';

interface ListOptions {
  readonly output: OutputFormat;
  readonly filter?: string;
  readonly machine?: string;
  readonly limit?: number;
}

export function listOperations(context: CommandContext, name: 'ops' | 'list'): Command {
  const command = new Command(name)
    .description('List all operations, newest first')
    .option('--filter <filter>', 'for example: phase=FAILED AND type=REIMAGE')
    .option('-m, --machine <machine-id>', 'of this machine only');
  return addOutput(addLimit(command)).action(
    context.action<ListOptions>(async ({ options, api }) => {
      const filter = allOf([options.filter, options.machine && equals('machine_id', options.machine)]);
      const pages = operationPages(api, filter, options.limit);
      const count = await writeList(context.out, options.output, operationRendering(context.now()), pages);
      if (count === 0 && isForPeople(options.output))
        context.err.line(filter === '' ? 'no operations yet' : 'no operation matches');
      return 'ok';
    }),
  );
}

function operationPages(
  api: Api,
  filter: string,
  limit: number | undefined,
): AsyncIterable<readonly Operation[]> {
  return pagesOf(async (page) => {
    const { operations, nextPageToken } = await api.operations.listOperations({ filter, ...page });
    return { items: operations, nextPageToken };
  }, limit);
}
