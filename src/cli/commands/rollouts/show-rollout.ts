/** Reading one rollout: its state, its machines, its progress. */
import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addExamples, addListing, addOutput, addTimeout } from '../../input/options.ts';
import { type OutputFormat, writeOne } from '../../output/format.ts';
import { askedFor, type ListingOptions, writeListing } from '../../output/listing.ts';
import { ROLLOUT_MACHINES, rolloutRendering, writeRolloutDetail } from '../../rendering/rollout-rendering.ts';
import { rolloutMachinePages } from '../../rollouts/follow-rollout.ts';
import { followToEnd } from '../../rollouts/follow-to-end.ts';
import { showInBrowser } from '../machines/open-machine.ts';
import type { WebOption } from '../open-list.ts';

export function showRollout(context: CommandContext): Command {
  const command = new Command('show')
    .alias('get')
    .description('Show one rollout: waves, what holds it up, failures, limits, history')
    .argument('<rollout-id>')
    .option('--web', 'open it in the console instead');
  return addOutput(command).action(
    context.action<WebOption & { output: OutputFormat }>(async ({ args: [rolloutId = ''], options, api }) => {
      if (options.web) {
        const url = await context.consoleUrl(options);
        showInBrowser(context, `${url}/rollouts/${encodeURIComponent(rolloutId)}`);
        return 'ok';
      }
      const rollout = await api.rollouts.getRollout({ rolloutId });
      const now = context.now();
      writeOne(context.out, options.output, rolloutRendering(now), rollout, () =>
        writeRolloutDetail(context.out, context.program, rollout, now),
      );
      return 'ok';
    }),
  );
}

export function listRolloutMachines(context: CommandContext): Command {
  const command = new Command('machines')
    .description('List the machines of a rollout in the order of their turn')
    .argument('<rollout-id>')
    .option('--filter <filter>', 'only those that match, such as state=FAILED AND wave=2');
  return addListing(command, ROLLOUT_MACHINES).action(
    context.action<ListingOptions & { filter?: string }>(async ({ args: [rolloutId = ''], options, api }) => {
      const pages = rolloutMachinePages(api, rolloutId, options.filter ?? '', askedFor(options));
      return writeListing(context, options, ROLLOUT_MACHINES, pages, 'no machine matches');
    }),
  );
}

export function watchRollout(context: CommandContext): Command {
  const command = new Command('watch')
    .description('Follow one rollout until it has ended; the exit code is its outcome')
    .argument('<rollout-id>');
  addExamples(command, context.program, ['rollout watch ro-1', 'rollout watch ro-1 -o jsonl']);
  return addOutput(addTimeout(command, '7d')).action(
    context.action<{ output: OutputFormat; timeout: number }>(
      async ({ args: [rolloutId = ''], options, api }) => {
        const rollout = await api.rollouts.getRollout({ rolloutId });
        return followToEnd({ context, api, rollout, options });
      },
    ),
  );
}
