import { Argument, Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { commandWords } from '../../completion/command-words.ts';
import { completionScript, SHELLS, type Shell } from '../../completion/scripts.ts';

/** `root` is asked when the command runs: by then the tree is whole. */
export function completionCommand(context: CommandContext, root: Command): Command {
  return new Command('completion')
    .description('Print the completion script of a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', `\nFor bash, now: source <(${context.program} completion bash)`)
    .action((shell: Shell) =>
      context.out.write(completionScript(shell, context.program, commandWords(root))),
    );
}
