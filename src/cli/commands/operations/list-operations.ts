import { Command } from 'commander';
import { allOf, equals } from '../../../client/filter-text.ts';
import type { CommandContext } from '../../command-context.ts';
import { pagesOf } from '../../connection/pages.ts';
import { addExamples, addListing } from '../../input/options.ts';
import type { OperationSource } from '../../operations/operation-source.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import { operationRendering } from '../../rendering/operation-rendering.ts';
import { addWeb, openList, type WebOption } from '../open-list.ts';

interface ListOptions extends ListingOptions, WebOption {
  readonly filter?: string;
  readonly machine?: string;
}

export function listOperations(
  context: CommandContext,
  source: OperationSource,
  name: 'ops' | 'list',
): Command {
  const command = new Command(name)
    .description(`List all ${source.noun}s, newest first`)
    .option('--filter <filter>', `only those that match, such as phase=FAILED AND type=${source.exampleType}`)
    .option('-m, --machine <machine-id>', 'only those of this machine');
  const path = source.noun === 'run' ? 'run list' : name === 'ops' ? 'ops' : 'op list';
  addExamples(command, context.program, [
    `${path} --filter 'phase=FAILED AND type=${source.exampleType}'`,
    `${path} -m machine-1 --limit 5`,
  ]);
  // The console shows runs as the operations that they are.
  if (source.noun === 'operation') addWeb(command);
  return addListing(command, operationRendering(source, 0)).action(
    context.action<ListOptions>(async ({ options, api }) => {
      const filter = allOf([options.filter, options.machine && equals('machine_id', options.machine)]);
      if (options.web) return openList(context, options, 'operations', filter);
      const pages = pagesOf((page) => source.list(api, { filter, ...page }), askedFor(options));
      const rendering = operationRendering(source, context.now());
      const none = filter === '' ? `no ${source.noun}s yet` : `no ${source.noun} matches`;
      return writeListing(context, options, rendering, pages, none);
    }),
  );
}
