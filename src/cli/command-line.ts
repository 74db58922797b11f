/** The entry of the client: parses the arguments, runs the command and returns its exit code. */
import { randomUUID } from 'node:crypto';
import { type Argument, type Command, CommanderError } from 'commander';
import { CommandContext, type CommandEnvironment } from './command-context.ts';
import { type ExtraCommands, treeFor } from './command-tree.ts';
import { reportLines } from './errors/error-report.ts';
import { EXIT_CODES } from './errors/exit-code.ts';
import { withOtherProgram } from './input/other-program.ts';

export interface ClientInvocation
  extends Pick<CommandEnvironment, 'program' | 'env' | 'stdin' | 'stdout' | 'stderr'>,
    Partial<Pick<CommandEnvironment, 'cwd' | 'signals' | 'now' | 'newRequestId'>> {
  /** The arguments after the program's name. */
  readonly argv: readonly string[];
  readonly extraCommands?: ExtraCommands;
}

export async function runClient(invocation: ClientInvocation): Promise<number> {
  const { stdout, stderr } = invocation;
  const context = new CommandContext({
    cwd: process.cwd(),
    signals: process,
    now: Date.now,
    newRequestId: randomUUID,
    ...invocation,
  });
  // `ingot list | head` closes stdout early. That ends the command, without an error.
  const outputClosed = new Promise<number>((resolve, reject) => {
    for (const stream of [stdout, stderr]) {
      stream.on('error', (error: NodeJS.ErrnoException) => {
        context.abandon();
        if (error.code === 'EPIPE') resolve(EXIT_CODES.ok.code);
        else reject(error);
      });
    }
  });
  try {
    return await Promise.race([runCommand(context, invocation), outputClosed]);
  } finally {
    context.api?.close();
  }
}

async function runCommand(context: CommandContext, invocation: ClientInvocation): Promise<number> {
  const root = await treeFor(context, invocation.extraCommands ?? {}, invocation.argv);
  for (const command of withSubcommands(root)) overrideOutput(command, context);
  try {
    // Its default command would only say that an argument is missing.
    groupTypedAlone(root, invocation.argv)?.help({ error: true });
    await root.parseAsync([...withOtherProgram(root, invocation.argv)], { from: 'user' });
    return context.exitCode;
  } catch (error) {
    if (context.isAbandoned) return EXIT_CODES.ok.code;
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? EXIT_CODES.ok.code : EXIT_CODES.usage.code;
    const report = context.report(error);
    for (const line of reportLines(report)) context.err.line(line);
    const meant = report.exit === 'failed' ? similarVerb(root, invocation.argv) : undefined;
    if (meant !== undefined) context.err.line(`  did you mean: ${[context.program, ...meant].join(' ')}`);
    return EXIT_CODES[report.exit].code;
  }
}

/** The noun that is the whole line, such as `ingot machine`. */
function groupTypedAlone(root: Command, argv: readonly string[]): Command | undefined {
  let command = root;
  for (const word of argv) {
    const next = command.commands.find((sub) => [sub.name(), ...sub.aliases()].includes(word));
    if (next === undefined) return undefined;
    command = next;
  }
  return command !== root && command.commands.length > 0 && command.name() !== 'agent' ? command : undefined;
}

/** `ingot machine lst` asks for the machine "lst": the verb that was probably meant. */
function similarVerb(
  root: Command,
  [noun = '', word = '']: readonly string[],
): readonly string[] | undefined {
  const group = root.commands.find((sub) => [sub.name(), ...sub.aliases()].includes(noun));
  const verbs = group?.commands.flatMap((sub) => [sub.name(), ...sub.aliases()]) ?? [];
  if (verbs.includes(word)) return undefined;
  const verb = verbs.find((each) => isOneEditAway(each, word));
  return verb === undefined ? undefined : [noun, verb];
}

/** One letter is missing, wrong or too many, or two are exchanged. */
function isOneEditAway(left: string, right: string): boolean {
  if (Math.abs(left.length - right.length) > 1 || right.length < 3) return false;
  let start = 0;
  while (start < right.length && left[start] === right[start]) start += 1;
  const [a, b] = [left.slice(start), right.slice(start)];
  if (a.length !== b.length) return a.length > b.length ? a.slice(1) === b : a === b.slice(1);
  return a.slice(1) === b.slice(1) || `${a[1]}${a[0]}${a.slice(2)}` === b;
}

/** The list of commands shows the arguments of each; its options are in its own help. */
function argumentTerm(argument: Argument): string {
  const name = argument.variadic ? `${argument.name()}...` : argument.name();
  return argument.required ? `<${name}>` : `[${name}]`;
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

/** Commander writes and exits by itself unless each command overrides it. */
function overrideOutput(command: Command, { out, err, program }: CommandContext): void {
  command.exitOverride();
  command.configureHelp({
    subcommandTerm: (sub) => {
      const args = sub.registeredArguments.map(argumentTerm);
      return [[sub.name(), ...sub.aliases()].join('|'), ...args].join(' ');
    },
  });
  command.configureOutput({
    writeOut: (text) => out.write(text),
    writeErr: (text) => err.write(text),
    getOutHelpWidth: () => Math.min(out.columns, 110),
    getErrHelpWidth: () => Math.min(err.columns, 110),
    getOutHasColors: () => false,
    getErrHasColors: () => false,
    outputError: (text, write) => {
      const path = commandPath(command);
      write(`${text}  help: ${[program, ...path, '--help'].join(' ')}\n`);
    },
  });
}

function commandPath(command: Command): string[] {
  return command.parent === null ? [] : [...commandPath(command.parent), command.name()];
}
