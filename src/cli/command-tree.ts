/**
 * Every command, in one place. A noun has a group (`ingot machine list`, `ingot op cancel`), and the verbs of
 * the design document are the short way to the same commands (`ingot list`, `ingot cancel`). A group that is
 * given no verb shows: `ingot op <id>` is `ingot op show <id>`.
 */
import { Command } from 'commander';
import { clearMachine, flagMachine, unflagMachine } from './commands/admin-flag.ts';
import { completionCommand } from './commands/completion.ts';
import { watchFleet } from './commands/fleet-watch.ts';
import { lifecycleCommand } from './commands/lifecycle.ts';
import { importMachines } from './commands/machine-import.ts';
import { listMachines } from './commands/machine-list.ts';
import { registerMachine, updateMachine } from './commands/machine-register.ts';
import { showMachine } from './commands/machine-show.ts';
import { cancelOperation } from './commands/operation-cancel.ts';
import { listOperations } from './commands/operation-list.ts';
import { streamLogs } from './commands/operation-logs.ts';
import { showOperation, watchOperation } from './commands/operation-show.ts';
import { tokenGroup } from './commands/token.ts';
import { versionCommand } from './commands/version.ts';
import type { CommandContext } from './context.ts';
import { EXIT_CODES } from './exit-code.ts';

/** A command that the client lists but does not own, such as the one that starts the server. */
export interface ExtraCommand {
  readonly name: string;
  readonly description: string;
  readonly options: readonly { readonly flags: string; readonly description: string }[];
  readonly run: (options: Readonly<Record<string, unknown>>) => Promise<number>;
}

export function commandTree(context: CommandContext, extra: readonly ExtraCommand[]): Command {
  const root = new Command(context.program)
    .description('Control fleets of physical machines')
    .usage('<command> [args]')
    .option('--server <host:port>', 'the server (or INGOT_SERVER; default 127.0.0.1:50051)')
    .option('--token-file <path>', 'a file that holds the token (or INGOT_TOKEN)')
    .addHelpText('after', () => helpAfter());

  root.commandsGroup('Machines:');
  for (const command of [importMachines, listMachines, showMachine, registerMachine, updateMachine]) {
    root.addCommand(command(context));
  }
  for (const command of lifecycleCommands(context)) root.addCommand(command);

  root.commandsGroup('Operations:');
  root.addCommand(listOperations(context, 'ops'));
  for (const command of [watchFleet, streamLogs, cancelOperation]) root.addCommand(command(context));

  root.commandsGroup('By noun:');
  root.addCommand(machineGroup(context));
  root.addCommand(operationGroup(context));

  root.commandsGroup('Administration:');
  for (const command of [flagMachine, unflagMachine, clearMachine, tokenGroup])
    root.addCommand(command(context));

  root.commandsGroup('This program:');
  for (const command of extra) root.addCommand(extraCommand(context, command));
  root.addCommand(completionCommand(context, root));
  root.addCommand(versionCommand(context));
  const help = new Command('help').argument('[command]').description('Display help for a command');
  return root.addHelpCommand(help.helpGroup('This program:'));
}

function lifecycleCommands(context: CommandContext): Command[] {
  return [
    lifecycleCommand(context, 'REBOOT'),
    lifecycleCommand(context, 'REIMAGE'),
    lifecycleCommand(context, 'ENTER_MAINTENANCE'),
    lifecycleCommand(context, 'EXIT_MAINTENANCE'),
  ];
}

function machineGroup(context: CommandContext): Command {
  const group = new Command('machine').description('Everything about machines');
  group.addCommand(showMachine(context), { isDefault: true });
  for (const command of [listMachines, registerMachine, updateMachine, importMachines, watchFleet]) {
    group.addCommand(command(context));
  }
  for (const command of lifecycleCommands(context)) group.addCommand(command);
  for (const command of [flagMachine, unflagMachine, clearMachine]) group.addCommand(command(context));
  return group;
}

function operationGroup(context: CommandContext): Command {
  const group = new Command('op').alias('operation').description('Everything about operations');
  group.addCommand(showOperation(context), { isDefault: true });
  group.addCommand(listOperations(context, 'list'));
  for (const command of [watchOperation, streamLogs, cancelOperation]) group.addCommand(command(context));
  return group;
}

function extraCommand(context: CommandContext, { name, description, options, run }: ExtraCommand): Command {
  const command = new Command(name).description(description);
  for (const option of options) command.option(option.flags, option.description);
  return command.action(async (given: Record<string, unknown>) => {
    context.exitCode = await run(given);
  });
}

function helpAfter(): string {
  const codes = Object.values(EXIT_CODES).map(({ code, meaning }) => `  ${String(code).padEnd(4)}${meaning}`);
  return `
Environment:
  INGOT_SERVER    the server, host:port (grpcs://host:port for TLS)
  INGOT_TOKEN     the token; without it, admin.token in the data directory of a server on this machine
  INGOT_DATA_DIR  that data directory (default: .ingot here or in a folder above)
  NO_COLOR        no colours

Exit codes:
${codes.join('\n')}`;
}
