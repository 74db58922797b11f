/** The reference of the command line, from the tree of commands that the program runs. */
import type { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import type { Argument, Command, Option } from 'commander';
import { CommandContext } from '../src/cli/command-context.ts';
import { commandTree, ENVIRONMENT } from '../src/cli/command-tree.ts';
import { EXIT_CODES } from '../src/cli/errors/exit-code.ts';
import { OUTPUT_FORMATS, type OutputFormat } from '../src/cli/output/format.ts';
import { extraCommands } from '../src/cli/program.ts';
import { loadExtra } from '../src/main.ts';
import { code, page, table } from './markdown.ts';

const NOTE =
  '<!-- Written by scripts/pages.ts from the command tree in src/cli/command-tree.ts. Change that, not this page. -->';

const PROGRAM = 'ingot';

const FORMATS = {
  table: 'for people, in columns',
  wide: 'the same with more columns',
  json: 'one JSON value: an array for a list, one value a line for a stream',
  jsonl: 'one JSON value a line',
  yaml: 'YAML; one document a value for a stream',
  name: 'only the id or name, one a line',
} as const satisfies Record<OutputFormat, string>;

export async function cliPage(): Promise<string> {
  const root = await tree();
  const commands = below(root, [PROGRAM]);
  return page([
    '# Command line',
    NOTE,
    `${code(PROGRAM)} is the server (${code(`${PROGRAM} serve`)}), the agent and the client in one program; ${code('bmdemo-cli')} is another name for it. Data goes to stdout, everything else to stderr. A question is asked only on a terminal; ${code('--yes')} answers it. ${code(`${PROGRAM} <command> --help`)} shows what this page has of a command, ${code(`${PROGRAM} completion <shell>`)} prints a completion script.`,
    '## Options of every client command',
    optionTable(root.options),
    '## Environment',
    table(
      ['variable', 'meaning'],
      Object.entries(ENVIRONMENT).map(([name, meaning]) => [code(name), meaning]),
    ),
    `The settings of the server are in [settings.md](settings.md), those of the agent below ${code(`${PROGRAM} agent`)}.`,
    '## Exit codes',
    table(
      ['code', 'meaning'],
      Object.values(EXIT_CODES).map(({ code: number, meaning }) => [String(number), meaning]),
    ),
    '## Output',
    `${code('-o, --output <format>')} of a command that has it:`,
    table(
      ['format', 'what is on stdout'],
      OUTPUT_FORMATS.map((format) => [code(format), FORMATS[format]]),
    ),
    '## Commands',
    ...groupsOf(root).flatMap(({ title, members }) => [
      `**${title}**`,
      table(
        ['command', 'what it does'],
        members.map((command) => [
          `[${code([PROGRAM, command.name()].join(' '))}](#${anchorOf([PROGRAM, command.name()])})`,
          command.description(),
        ]),
      ),
    ]),
    ...commands.flatMap((found) => commandSection(found, commands)),
  ]);
}

function tree(): Promise<Command> {
  const silent = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const context = new CommandContext({
    program: PROGRAM,
    env: {},
    cwd: '/',
    signals: process,
    now: () => 0,
    newRequestId: () => '',
    ...silent,
  });
  return commandTree(context, extraCommands(PROGRAM, loadExtra));
}

interface Found {
  readonly path: readonly string[];
  readonly command: Command;
}

function below(command: Command, path: readonly string[]): Found[] {
  return command.commands.flatMap((sub) => {
    const here = [...path, sub.name()];
    return [{ path: here, command: sub }, ...below(sub, here)];
  });
}

function groupsOf(root: Command): { title: string; members: Command[] }[] {
  const groups = new Map<string, Command[]>();
  for (const command of root.commands) {
    const title = command.helpGroup().replace(/:$/, '');
    groups.set(title, [...(groups.get(title) ?? []), command]);
  }
  return [...groups].map(([title, members]) => ({ title, members }));
}

function commandSection({ path, command }: Found, all: readonly Found[]): string[] {
  const heading = `### ${path.join(' ')}`;
  const body = bodyOf(command);
  const twin = all.find((other) => other.path.length < path.length && isSame(other.command, command));
  if (twin) {
    const name = twin.path.join(' ');
    return [heading, `The same as [${code(name)}](#${anchorOf(twin.path)}).`];
  }
  const usage = [path.join(' '), ...command.registeredArguments.map(argumentTerm), ...optionsTerm(command)];
  return [heading, `${command.description()}.`, '```', usage.join(' '), '```', ...body].reduce<string[]>(
    joinFence,
    [],
  );
}

/** A fenced block is one part of the page: its lines have no blank lines between them. */
function joinFence(parts: string[], part: string): string[] {
  const last = parts.at(-1);
  const isOpen = last?.startsWith('```') && !last.endsWith('\n```');
  return isOpen ? [...parts.slice(0, -1), `${last}\n${part}`] : [...parts, part];
}

function isSame(left: Command, right: Command): boolean {
  return (
    left.name() === right.name() &&
    left.description() === right.description() &&
    bodyOf(left).join() === bodyOf(right).join()
  );
}

function bodyOf(command: Command): string[] {
  const aliases = command.aliases();
  const described = command.registeredArguments.filter(
    ({ description, argChoices }) => description || argChoices,
  );
  return [
    ...(aliases.length === 0 ? [] : [`Alias: ${aliases.map(code).join(', ')}.`]),
    ...(command.commands.length === 0
      ? []
      : [`Commands: ${command.commands.map((sub) => code(sub.name())).join(', ')}.`]),
    ...(described.length === 0
      ? []
      : [
          table(
            ['argument', 'meaning'],
            described.map((argument) => [code(argumentTerm(argument)), meaningOf(argument)]),
          ),
        ]),
    ...(command.options.length === 0 ? [] : [optionTable(command.options)]),
    ...afterText(command),
  ];
}

function argumentTerm(argument: Argument): string {
  const name = argument.variadic ? `${argument.name()}...` : argument.name();
  return argument.required ? `<${name}>` : `[${name}]`;
}

function optionsTerm(command: Command): string[] {
  const mandatory = command.options
    .filter((option) => option.mandatory)
    .map(({ flags }) => flags.replace(/^-\w, /, ''));
  return [...mandatory, ...(command.options.length > mandatory.length ? ['[options]'] : [])];
}

function optionTable(options: readonly Option[]): string {
  const rows = options
    .filter(({ hidden }) => !hidden)
    .map((option) => [code(option.flags), meaningOf(option), defaultOf(option)]);
  return table(['option', 'meaning', 'default'], rows);
}

function meaningOf({ description, argChoices }: Option | Argument): string {
  const choices = argChoices ? argChoices.map(code).join(', ') : '';
  return [description ?? '', choices]
    .filter((part) => part !== '')
    .join(': ')
    .replaceAll('<', '&lt;');
}

function defaultOf({ defaultValue, defaultValueDescription, mandatory }: Option): string {
  if (mandatory) return 'required';
  if (defaultValueDescription !== undefined) return code(defaultValueDescription);
  return defaultValue === undefined ? '' : code(String(defaultValue));
}

/** The text that `--help` prints below the options. */
function afterText(command: Command): string[] {
  let text = '';
  // Commander's commands are event emitters, which its types do not say; help texts listen to this event.
  (command as unknown as EventEmitter).emit('afterHelp', {
    error: false,
    command,
    write: (part: string) => {
      text += part;
    },
  });
  return text.trim() === '' ? [] : ['```text', text.replace(/^\n+|\s+$/g, ''), '```'];
}

/** As GitHub makes it of a heading. */
function anchorOf(path: readonly string[]): string {
  return path.join('-');
}
