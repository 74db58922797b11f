import type { Command, Option } from 'commander';

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

/** Arguments whose values only the server knows. Of many, the first or the newest are offered. */
const LISTED_BY: Readonly<Record<string, string>> = {
  'rollout-id': 'rollout list --limit 100 -o name',
  'machine-id': 'list --limit 200 -o name',
  'machine-ids': 'list --limit 200 -o name',
  'operation-id': 'ops --limit 100 -o name',
  'run-id': 'run list --limit 100 -o name',
  'plan-id': 'plan list -o name',
};

/** Options whose values only the server knows. A filter is completed term by term (commands/program/suggest-filter.ts). */
const VALUES_LISTED_BY: Readonly<Record<string, string>> = {
  '--image': 'image list -o name',
  '--pool': 'pool list -o name',
};

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
    listedBy: LISTED_BY[command.registeredArguments[0]?.name() ?? ''],
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
    choices: option.argChoices ?? [],
    listedBy: option.required ? VALUES_LISTED_BY[option.long ?? ''] : undefined,
  };
}
