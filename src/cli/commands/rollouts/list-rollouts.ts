import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { pagesOf } from '../../connection/pages.ts';
import { addExamples, addLimit, addOutput } from '../../input/options.ts';
import { isForPeople, type OutputFormat, writeList } from '../../output/format.ts';
import { rolloutRendering } from '../../rendering/rollout-rendering.ts';

export function listRollouts(context: CommandContext): Command {
  const command = new Command('list')
    .description('List rollouts, newest first')
    .option('--filter <filter>', 'for example: state=RUNNING AND created_by:alice');
  addExamples(command, context.program, [
    'rollout list --filter state=RUNNING',
    'rollout list --limit 10 -o json',
  ]);
  return addOutput(addLimit(command)).action(
    context.action<{ output: OutputFormat; filter?: string; limit?: number }>(async ({ options, api }) => {
      const { filter = '' } = options;
      const pages = pagesOf(async (page) => {
        const { rollouts, nextPageToken } = await api.rollouts.listRollouts({ filter, ...page });
        return { items: rollouts, nextPageToken };
      }, options.limit);
      const count = await writeList(context.out, options.output, rolloutRendering(context.now()), pages);
      if (count === 0 && isForPeople(options.output))
        context.err.line(filter === '' ? 'no rollouts yet' : 'no rollout matches');
      return 'ok';
    }),
  );
}
