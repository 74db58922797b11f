/** The options that several commands share, each declared once. */
import { type Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { inAnyCase } from '../../domain/any-case.ts';
import { offering } from '../completion/offered-values.ts';
import { OUTPUT_FORMATS, PATH_FORMATS } from '../output/format.ts';
import { pathWriter } from '../output/path-writer.ts';
import { parseDuration } from '../output/time-text.ts';

const LONGEST_TIMEOUT_MS = 7 * 24 * 60 * 60 * 1000;

export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0)
    throw new InvalidArgumentError('Expected a duration such as 30s, 5m, 1h or 30d.');
  return ms;
}

/** A time in milliseconds since 1970: a date, a date and time, or a duration before now. */
export function instant(text: string, now: number): number {
  const ago = parseDuration(text);
  if (ago !== undefined) return now - ago;
  const at = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new InvalidArgumentError(
      'Expected 2026-11-01, 2026-11-01T12:00:00Z, or a duration before now such as 24h.',
    );
  return at;
}

/** 0s too. */
export function durationOrNone(text: string): number {
  return parseDuration(text) === 0 ? 0 : duration(text);
}

function timeout(text: string): number {
  const ms = duration(text);
  if (ms > LONGEST_TIMEOUT_MS) throw new InvalidArgumentError('The maximum is 7d.');
  return Math.ceil(ms);
}

export function wholeNumber(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1 || number > 1_000_000) {
    throw new InvalidArgumentError('Expected a whole number from 1 to 1000000.');
  }
  return number;
}

type Pair = readonly [string, string];

/** Collects repeated key=value options. */
export function pairs(text: string, before: readonly Pair[] = []): readonly Pair[] {
  const split = text.indexOf('=');
  if (split < 1) throw new InvalidArgumentError('Expected key=value.');
  return [...before, [text.slice(0, split), text.slice(split + 1)]];
}

/** A value from a closed set, in upper or lower case; help and completion show the set. */
export function oneOf<Choice extends Argument | Option>(choice: Choice, names: readonly string[]): Choice {
  choice.choices(names);
  choice.argParser((text: string) => {
    const name = inAnyCase(names, text);
    if (name === undefined) throw new InvalidArgumentError(`Allowed choices are ${names.join(', ')}.`);
    return name;
  });
  return choice;
}

/** A value for which help and completion show the usual ones; the server knows more, and checks it. */
export function oneOfOrMore(option: Option, usual: readonly string[]): Option {
  option.choices(usual);
  return option.argParser((text: string) => inAnyCase(usual, text) ?? text);
}

export function several(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

export function addOutput(command: Command): Command {
  return command
    .addOption(outputOption().default('table'))
    .option('--jq <filter>', 'select from the JSON with a filter of jq; texts are printed without quotes');
}

/** The paths of custom columns and jsonpath are checked before anything is asked of the server. */
function outputOption(): Option {
  const option = new Option(
    '-o, --output <format>',
    'format of the data on stdout; also custom-columns=NAME:.path,… and jsonpath=…',
  ).choices(OUTPUT_FORMATS);
  return option.argParser((text: string) => {
    if (pathWriter(text) !== null || (OUTPUT_FORMATS as readonly string[]).includes(text)) return text;
    throw new InvalidArgumentError(`Allowed choices are ${[...OUTPUT_FORMATS, ...PATH_FORMATS].join(', ')}.`);
  });
}

const names = (text: string): string[] => text.split(',').filter((name) => name.trim() !== '');

/** The columns of a list, whatever its items are. */
interface ListColumns {
  readonly columns: readonly { readonly header: string }[];
  readonly wideColumns: readonly { readonly header: string }[];
  readonly furtherColumns?: readonly { readonly header: string }[];
}

function addTableChoice(command: Command, of: ListColumns): Command {
  const all = [...of.columns, ...of.wideColumns, ...(of.furtherColumns ?? [])];
  const known = [...new Set(all.map(({ header }) => header.toLowerCase()))];
  const columns = new Option(
    '--columns <names>',
    'show these columns only, separated by commas; those of -o wide too',
  ).argParser(names);
  const sort = new Option('--sort <column>', 'sort by this column; -<column> for the largest first');
  return command
    .addOption(offering(columns, known))
    .addOption(offering(sort, [...known, ...known.map((name) => `-${name}`)]));
}

export function addFilter(command: Command): Command {
  return command
    .option('--filter <filter>', 'only those that match, such as phase=READY AND NOT effective_state=BUSY')
    .option('-l, --label <key=value>', 'only those with this label (may be repeated)', pairs);
}

/** How many there are without either option, where that is not all of them. */
interface Standard {
  readonly limit: number;
  /** What n is, where it is not the newest. */
  readonly meaning?: string;
}

function addLimit(command: Command, standard?: Standard): Command {
  const meaning = standard === undefined ? 'at most n items' : (standard.meaning ?? 'the newest n');
  const limit = new Option('--limit <n>', meaning);
  if (standard !== undefined) limit.default(standard.limit);
  const all = standard === undefined ? 'all items (the default)' : 'all items';
  return command
    .addOption(limit.argParser(wholeNumber))
    .addOption(new Option('--all', all).conflicts('limit'));
}

/** What every list has. */
export function addListing(command: Command, of: ListColumns, standard?: Standard): Command {
  return addTableChoice(addOutput(addLimit(command, standard)), of);
}

export function addTimeout(command: Command, standard: string): Command {
  return command.addOption(
    new Option('--timeout <time>', 'how long to wait: 30s, 5m, 1h')
      .argParser(timeout)
      .default(duration(standard), standard),
  );
}

export function addWaiting(command: Command, standard: string, noun: 'operation' | 'run'): Command {
  command.option('--wait', `wait until the ${noun} is finished (the default)`);
  command.option('--no-wait', `return as soon as the ${noun} is accepted`);
  command.setOptionValueWithSource('wait', true, 'default');
  return addQuiet(addTimeout(command, standard));
}

export function addQuiet(command: Command): Command {
  return command.option('-q, --quiet', 'one line instead of the live display');
}

const REASON = ['--reason <text>', 'the reason, kept in the history'] as const;

/** Of every command that changes something. The server has it with the change, in its history. */
export function addReason(command: Command): Command {
  return command.option(...REASON);
}

/** `--comment` is the former name of the reason on nodes. */
export function addNodeReason(command: Command): Command {
  return addReason(command).addOption(new Option('--comment <text>', 'the reason').hideHelp());
}

export function requireReason(command: Command): Command {
  return command.requiredOption(...REASON);
}

/** Command lines that `--help` and docs/cli.md show below the options, without the program's name. */
export function addExamples(command: Command, program: string, lines: readonly string[]): Command {
  const examples = lines.map((line) => `  ${program} ${line}`);
  return command.addHelpText('after', `\nExamples:\n${examples.join('\n')}`);
}
