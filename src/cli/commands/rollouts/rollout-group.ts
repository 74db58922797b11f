import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { changeLimits } from './change-limits.ts';
import { listRollouts } from './list-rollouts.ts';
import { rollBack } from './roll-back.ts';
import { rolloutActions } from './rollout-actions.ts';
import { listRolloutMachines, showRollout, watchRollout } from './show-rollout.ts';
import { previewRollout, startRollout } from './start-rollout.ts';

export function rolloutGroup(context: CommandContext): Command {
  const group = new Command('rollout').description(
    'Rollouts: change many machines in waves, within limits, with rules that stop them',
  );
  group.addCommand(showRollout(context), { isDefault: true });
  for (const command of [previewRollout, startRollout, listRollouts, listRolloutMachines, watchRollout])
    group.addCommand(command(context));
  for (const command of rolloutActions(context)) group.addCommand(command);
  for (const command of [changeLimits, rollBack]) group.addCommand(command(context));
  return group;
}
