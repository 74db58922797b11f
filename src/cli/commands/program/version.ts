import { Command } from 'commander';
import { packageVersion } from '../../../package-root.ts';
import type { CommandContext } from '../../command-context.ts';

export function versionCommand(context: CommandContext): Command {
  return new Command('version')
    .description('Print the version of this program')
    .action(() => context.out.line(`${context.program} ${packageVersion()}`));
}
