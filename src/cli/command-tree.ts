/** The tree of commands that the arguments are parsed with: all of them for help, or the one that was typed. */
import { Command } from 'commander';
import { packageVersion } from '../package-root.ts';
import type { CommandContext } from './command-context.ts';
import { ALIASES, COMMANDS } from './commands.ts';
import { EXIT_CODES } from './errors/exit-code.ts';

/** A command of the program that is not a client of the server, such as `serve`. */
export interface ExtraCommand {
  readonly name: string;
  readonly description: string;
  /** As commander writes them, such as `[dir]`. */
  readonly arguments?: string;
  /** The value of one that is repeatable is the list of all that were given. */
  readonly options: readonly {
    readonly flags: string;
    readonly description: string;
    readonly repeatable?: true;
  }[];
  readonly helpAfter?: string;
  /** `options` includes those of the parent commands, such as `--server`. */
  readonly run: (options: Readonly<Record<string, unknown>>, args: readonly string[]) => Promise<number>;
  readonly subcommands?: readonly ExtraCommand[];
}

/** The extra commands by name, each loaded when it is needed. */
export type ExtraCommands = Readonly<Record<string, () => Promise<ExtraCommand>>>;

const THIS_PROGRAM = 'This program:';

/** Every command, for help, completion and the reference. */
export async function commandTree(context: CommandContext, extra: ExtraCommands): Promise<Command> {
  const root = rootCommand(context);
  for (const [heading, commands] of Object.entries(COMMANDS)) {
    root.commandsGroup(heading);
    for (const load of Object.values(commands)) root.addCommand((await load())(context));
  }
  root.commandsGroup(THIS_PROGRAM);
  for (const load of Object.values(extra)) root.addCommand(extraCommand(context, await load()));
  const { completionCommand } = await import('./commands/program/completion.ts');
  root.addCommand(completionCommand(context, root));
  root.addCommand(versionCommand(context));
  const help = new Command('help').argument('[command]').description('Display help for a command');
  return root.addHelpCommand(help.helpGroup(THIS_PROGRAM));
}

/** The tree with the one command that the arguments name; all commands where they name none that is known. */
export async function treeFor(
  context: CommandContext,
  extra: ExtraCommands,
  argv: readonly string[],
): Promise<Command> {
  const root = rootCommand(context);
  const typed = firstWord(root, argv);
  if (typed === 'version') return root.addCommand(versionCommand(context));
  const load = Object.values(COMMANDS).find((commands) => Object.hasOwn(commands, typed))?.[typed];
  if (load !== undefined) return root.addCommand((await load())(context));
  const loadExtra = Object.hasOwn(extra, typed) ? extra[typed] : undefined;
  if (loadExtra !== undefined) return root.addCommand(extraCommand(context, await loadExtra()));
  return commandTree(context, extra);
}

/** The first argument that is neither an option of the program nor the value of one. */
function firstWord(root: Command, argv: readonly string[]): string {
  const withValue = root.options.filter(({ required }) => required).map(({ long }) => long);
  let isValue = false;
  for (const argument of argv) {
    if (isValue) isValue = false;
    else if (!argument.startsWith('-')) return ALIASES[argument] ?? argument;
    else isValue = withValue.includes(argument);
  }
  return '';
}

function rootCommand(context: CommandContext): Command {
  return new Command(context.program)
    .description('Control fleets of physical machines')
    .usage('<command> [args]')
    .version(`${context.program} ${packageVersion()}`, '--version', 'print the version of this program')
    .option('--server <host:port>', 'the server (or INGOT_SERVER; default 127.0.0.1:50051)')
    .option('--http-url <url>', 'its HTTP address (or INGOT_HTTP_URL; default: what the server says)')
    .option('--token-file <path>', 'a file that holds the token (or INGOT_TOKEN)')
    .option(
      '--profile <name>',
      'what ingot login stored under this name (or INGOT_PROFILE; default: default)',
    )
    .option('--ca-file <path>', 'the authorities to trust, for a server with TLS (or INGOT_CA_FILE)')
    .option('--cert-file <path>', 'the certificate of this client (or INGOT_CERT_FILE)')
    .option('--key-file <path>', 'its private key (or INGOT_KEY_FILE)')
    .addHelpText('after', () => helpAfter(context.program));
}

function versionCommand(context: CommandContext): Command {
  return new Command('version')
    .description('Print the version of this program')
    .action(() => context.out.line(`${context.program} ${packageVersion()}`));
}

function extraCommand(context: CommandContext, extra: ExtraCommand): Command {
  const command = new Command(extra.name).description(extra.description);
  if (extra.arguments !== undefined) command.arguments(extra.arguments);
  for (const { flags, description, repeatable } of extra.options) {
    if (repeatable) command.option(flags, description, collect);
    else command.option(flags, description);
  }
  for (const sub of extra.subcommands ?? []) command.addCommand(extraCommand(context, sub));
  return command.addHelpText('after', extra.helpAfter ?? '').action(async () => {
    context.exitCode = await extra.run(command.optsWithGlobals(), command.args);
  });
}

const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

/** The variables that the client reads. */
export const ENVIRONMENT = {
  INGOT_SERVER: 'the server, host:port (grpcs://host:port for TLS, which INGOT_CA_FILE implies)',
  INGOT_HTTP_URL: 'its HTTP address, where it is not the one that the server says, such as behind a proxy',
  INGOT_TOKEN: 'the token (default: that of ingot login, or admin.token of a server on this machine)',
  INGOT_PROFILE: 'the profile of ingot login to use (default: default)',
  INGOT_CA_FILE: "the authorities to trust instead of the system's, for a server with TLS",
  INGOT_CERT_FILE: 'the certificate of this client',
  INGOT_KEY_FILE: 'its private key',
  INGOT_DATA_DIR: 'the data directory of that server (default: .ingot here or in a folder above)',
  NO_COLOR: 'no colours',
} as const satisfies Record<string, string>;

/** The first commands of a newcomer. */
const START_HERE = {
  'login --server host:port': 'sign in to a server, once',
  list: 'see the machines',
  'show machine-1': 'everything about one of them',
  'explain machine-1': 'why it is not in service, and what to do',
  top: 'watch the fleet',
  'reboot machine-1': 'do something, and follow it to its end',
} as const satisfies Record<string, string>;

function lines(texts: Readonly<Record<string, string>>, program: string): string {
  const named = Object.entries(texts).map(
    ([command, meaning]) => [`${program} ${command}`, meaning] as const,
  );
  const width = Math.max(...named.map(([command]) => command.length)) + 2;
  return named.map(([command, meaning]) => `  ${command.padEnd(width)}${meaning}`).join('\n');
}

function helpAfter(program: string): string {
  const variables = Object.entries(ENVIRONMENT).map(([name, meaning]) => `  ${name.padEnd(16)}${meaning}`);
  const codes = Object.values(EXIT_CODES).map(({ code, meaning }) => `  ${String(code).padEnd(4)}${meaning}`);
  return `
Start here:
${lines(START_HERE, program)}

Environment:
${variables.join('\n')}

Exit codes:
${codes.join('\n')}`;
}
