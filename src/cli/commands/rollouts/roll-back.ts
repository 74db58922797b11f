import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { confirm } from '../../input/confirm.ts';
import { addOutput, addReason } from '../../input/options.ts';
import type { OutputFormat } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { followToEnd } from '../../rollouts/follow-to-end.ts';
import { machinesText } from '../../rollouts/rollout-text.ts';
import { addCreating, requestIdOf, writeCreated } from './start-rollout.ts';

interface RollBackOptions {
  readonly output: OutputFormat;
  readonly wait: boolean;
  readonly timeout: number;
  readonly yes?: boolean;
  readonly requestId?: string;
  readonly reason?: string;
}

export function rollBack(context: CommandContext): Command {
  const command = new Command('rollback')
    .alias('roll-back')
    .description(
      'Give the machines of a rollout the image or parameters that each had before, as a new rollout',
    )
    .argument('<rollout-id>');
  return addOutput(addCreating(addReason(command))).action(
    context.action<RollBackOptions>(async ({ args: [rolloutId = ''], options, api }) => {
      const { machines } = await api.rollouts.getRollout({ rolloutId });
      const changed = (machines?.total ?? 0) - (machines?.pending ?? 0) - (machines?.ineligible ?? 0);
      if (options.yes !== true)
        await confirm(context, `Roll back ${plainText(rolloutId)} on ${machinesText(changed)}?`);
      const requestId = requestIdOf(context, options);
      const rollout = await api.rollouts.rollBack({ rolloutId, requestId, reason: options.reason ?? '' });
      context.err.line(`rollout: ${plainText(rollout.rolloutId)}`);
      return options.wait
        ? followToEnd({ context, api, rollout, options })
        : writeCreated(context, options.output, rollout);
    }),
  );
}
