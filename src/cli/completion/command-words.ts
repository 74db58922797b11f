import type { Command, Option } from 'commander';
import { offeredValues } from './offered-values.ts';

export interface CompletableOption {
  /** -o, --output */
  readonly flags: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
  /** The command that lists its values, without the program. */
  readonly listedBy: string | undefined;
}

/** What a shell completes for one command. */
export interface CommandWords {
  /** The path of the command, without the program: ['op', 'show']. */
  readonly path: readonly string[];
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletableOption[];
  /** The allowed values of its arguments, if they are a closed set. */
  readonly values: readonly string[];
  /** The command that lists what its first argument may be, without the program. */
  readonly listedBy: string | undefined;
}

/** In the place of the word that is being completed. */
export const TYPED = '{typed}';

const MACHINES = `list --filter machine_id=${TYPED}* --limit 200 -o name`;

/** Arguments whose values only the server knows. Of many, those that begin as typed, or the newest, are offered. */
const LISTED_BY: Readonly<Record<string, string>> = {
  'rollout-id': 'rollout list --limit 100 -o name',
  'machine-id': MACHINES,
  'node-id': `node list --search ${TYPED} --limit 200 -o name`,
  'operation-id': 'ops --limit 100 -o name',
  'run-id': 'run list --limit 100 -o name',
  'plan-id': 'plan list -o name',
  'session-id': 'session list -o name',
};

/** The nouns whose argument is called "name". A verb that makes one has a new name. */
const NAMES_LISTED_BY: Readonly<Record<string, string>> = {
  token: 'token list -o name',
  image: 'image list -o name',
  workflow: 'workflow list -o name',
  pool: 'pool list -o name',
  budget: 'budget list -o name',
  provider: 'provider list -o name',
  view: 'view list -o name',
  profile: 'hardware profile list -o name',
};
const MAKES_A_NAME = new Set(['create', 'add', 'save']);

/** Options whose values only the server knows. A filter is completed term by term (commands/program/suggest-filter.ts). */
const VALUES_LISTED_BY: Readonly<Record<string, string>> = {
  '--image': 'image list -o name',
  '--pool': 'pool list -o name',
  '--machine': MACHINES,
  '--machine-id': MACHINES,
  '--plan': 'plan list -o name',
  '--provider': 'provider list -o name',
  '--workflow': 'workflow list -o name',
};

function listedBy(command: Command, path: readonly string[]): string | undefined {
  const argument = command.registeredArguments[0]?.name() ?? '';
  if (argument !== 'name') return LISTED_BY[argument];
  return MAKES_A_NAME.has(path.at(-1) ?? '') ? undefined : NAMES_LISTED_BY[path.at(-2) ?? ''];
}

/** Reads the command tree, so that completion has everything that the program has. */
export function commandWords(program: Command): CommandWords[] {
  return walk(program, [], []);
}

function walk(command: Command, path: readonly string[], inherited: readonly Option[]): CommandWords[] {
  const own = command.options.filter(({ hidden }) => !hidden);
  // A command may declare an option of its parents with another description.
  const shown = [...own, ...inherited.filter(({ long }) => !own.some((option) => option.long === long))];
  const here: CommandWords = {
    path,
    subcommands: command.commands.flatMap((sub) =>
      [sub.name(), ...sub.aliases()].map((name) => ({ name, description: sub.description() })),
    ),
    options: [...shown.map(completable), HELP],
    values: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    listedBy: listedBy(command, path),
  };
  const below = command.commands.flatMap((sub) =>
    [sub.name(), ...sub.aliases()].flatMap((name) => walk(sub, [...path, name], shown)),
  );
  return [here, ...below];
}

const HELP: CompletableOption = {
  flags: ['-h', '--help'],
  description: 'display help for command',
  takesValue: false,
  choices: [],
  listedBy: undefined,
};

function completable(option: Option): CompletableOption {
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
    description: option.description,
    takesValue: option.required || option.optional,
    choices: offeredValues(option),
    listedBy: option.required ? VALUES_LISTED_BY[option.long ?? ''] : undefined,
  };
}
