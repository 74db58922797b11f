import { Argument, Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { commandWords } from '../../completion/command-words.ts';
import { completionScript, SHELLS, type Shell } from '../../completion/scripts.ts';

/** `root` is read when the command runs, when the tree is complete. */
export function completionCommand(context: CommandContext, root: Command): Command {
  return new Command('completion')
    .description('Print the completion script of a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', `\nFor bash: source <(${context.program} completion bash)`)
    .action((shell: Shell) =>
      context.out.write(completionScript(shell, context.program, commandWords(root))),
    );
}
