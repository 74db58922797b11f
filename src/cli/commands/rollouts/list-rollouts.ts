import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { pagesOf } from '../../connection/pages.ts';
import { addExamples, addListing } from '../../input/options.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import { rolloutRendering } from '../../rendering/rollout-rendering.ts';
import { addWeb, openList, type WebOption } from '../open-list.ts';

export function listRollouts(context: CommandContext): Command {
  const command = new Command('list')
    .description('List rollouts, newest first')
    .option('--filter <filter>', 'only those that match, such as state=RUNNING AND created_by:alice');
  addExamples(command, context.program, [
    'rollout list --filter state=RUNNING',
    'rollout list --limit 10 -o json',
  ]);
  return addListing(addWeb(command), rolloutRendering(0)).action(
    context.action<ListingOptions & WebOption & { filter?: string }>(async ({ options, api }) => {
      const { filter = '' } = options;
      if (options.web) return openList(context, options, 'rollouts', filter);
      const pages = pagesOf(async (page) => {
        const { rollouts, nextPageToken } = await api.rollouts.listRollouts({ filter, ...page });
        return { items: rollouts, nextPageToken };
      }, askedFor(options));
      const none = filter === '' ? 'no rollouts yet' : 'no rollout matches';
      return writeListing(context, options, rolloutRendering(context.now()), pages, none);
    }),
  );
}
