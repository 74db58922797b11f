import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { packageVersion } from '../package-root.ts';

export function versionCommand(context: CommandContext): Command {
  return new Command('version')
    .description('Print the version of this program')
    .action(() => context.out.line(`${context.program} ${packageVersion()}`));
}
