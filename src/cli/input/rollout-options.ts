/** A rollout as a file, as options, or as a file with options that replace some of it. */
import { create, fromJson, type MessageInitShape } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { type Command, Option } from 'commander';
import { type RolloutSpec, RolloutSpecSchema } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import { UsageError } from '../errors/usage-error.ts';
import { filterOf, type SelectionOptions } from './machine-selection.ts';
import { addFilter, addReason, oneOf } from './options.ts';
import { readRollout } from './rollout-file.ts';
import {
  addLimits,
  type BlackoutInit,
  blackout,
  type LimitOptions,
  stopRules,
  time,
  waveSizes,
} from './rollout-limits.ts';
import { addSteps, type StepInit } from './rollout-steps.ts';
import { fileSource, withPlaces, type YamlFile } from './yaml-file.ts';

export interface RolloutOptions extends SelectionOptions, LimitOptions {
  readonly file?: string;
  readonly name?: string;
  readonly follow?: boolean;
  readonly waves?: readonly string[];
  readonly by?: string;
  readonly order?: readonly string[];
  readonly gate?: string;
  readonly gates?: readonly string[];
  readonly blackout?: readonly BlackoutInit[];
  readonly startAt?: string;
  readonly reason?: string;
  readonly overrideBudget?: boolean;
}

export interface TypedRollout {
  readonly spec: RolloutSpec;
  /** Adds the line of the file to an error of the server. */
  readonly explain: (error: unknown) => unknown;
}

export type ReadRolloutOptions = (
  context: CommandContext,
  args: readonly string[],
  options: RolloutOptions,
) => Promise<TypedRollout>;

const GATES = ['automatic', 'approval', 'second-person'] as const;

const EVERY_MACHINE = 'machine_id=*';

const list = (text: string): string[] => text.split(',').map((item) => item.trim());

/** Adds the options, and returns what reads them. */
export function addRollout(command: Command): ReadRolloutOptions {
  command
    .argument('[machine-id...]', 'the machines, instead of --filter or -l')
    .option(
      '-f, --file <path>',
      'the rollout, as YAML or JSON; - reads it from stdin; options replace its fields',
    )
    .option('--name <name>', 'a name for people');
  addFilter(command)
    .option('--all', 'every machine')
    .option('--follow', 'add machines that come to match the filter');
  const stepsOf = addSteps(command);
  command
    .addOption(new Option('--waves <sizes>', 'such as 1,10%,rest').argParser(waveSizes).conflicts('by'))
    .option('--by <field>', 'one wave for each value of this field, such as location.rack')
    .addOption(new Option('--order <values>', 'with --by: these first, separated by commas').argParser(list))
    .addOption(oneOf(new Option('--gate <gate>', 'what lets the next wave start'), GATES))
    .addOption(new Option('--gates <gates>', 'for single waves, by their place').argParser(list));
  addLimits(command)
    .addOption(
      new Option(
        '--blackout <days>',
        'start nothing on these days, such as 2026-12-24 (may be repeated)',
      ).argParser(blackout),
    )
    .addOption(new Option('--start-at <time>', 'start nothing before this time').argParser(time));
  addReason(command).option(
    '--override-budget',
    'start although a disruption budget is exceeded (admin; needs --reason)',
  );
  return (context, args, options) => readTyped(context, args, { ...options, steps: stepsOf(options) });
}

async function readTyped(
  context: CommandContext,
  args: readonly string[],
  options: RolloutOptions & { readonly steps: StepInit[] },
): Promise<TypedRollout> {
  const { file: name } = options;
  const read =
    name === undefined ? undefined : await readRollout(fileSource(name, context.pathOf(name), context.stdin));
  const spec = withOptions(read?.spec ?? create(RolloutSpecSchema), args, options);
  if (spec.steps.length === 0)
    throw new UsageError('what to do? give -f rollout.yaml, or steps such as --reboot or --reimage <image>');
  if (spec.filter === '' && spec.machineIds.length === 0)
    throw new UsageError('which machines? give their ids, --filter, -l or --all, or name them in the file');
  return { spec, explain: (error) => explained(error, read?.file) };
}

const explained = (error: unknown, file: YamlFile | undefined): unknown =>
  file === undefined ? error : withPlaces(error, file, 'spec');

function withOptions(
  spec: RolloutSpec,
  args: readonly string[],
  options: RolloutOptions & { readonly steps: StepInit[] },
): RolloutSpec {
  const { $typeName: _type, $unknown: _unknown, ...written } = spec;
  const stop = stopRules(options, spec.stop);
  const given: MessageInitShape<typeof RolloutSpecSchema> = {
    ...selectionOf(args, options),
    ...(options.steps.length > 0 && { steps: options.steps }),
    ...wavesOf(options),
    ...(stop !== undefined && { stop }),
    ...(options.maxUnavailable !== undefined && { limits: [...options.maxUnavailable] }),
    ...(options.window !== undefined && { windows: [...options.window] }),
    ...(options.blackout !== undefined && { blackouts: [...options.blackout] }),
    ...(options.startAt !== undefined && { startAt: fromJson(TimestampSchema, options.startAt) }),
    ...(options.deadline !== undefined && { deadline: fromJson(TimestampSchema, options.deadline) }),
  };
  const texts = ['name', 'soak', 'gate', 'maxParallel', 'reason', 'follow', 'overrideBudget'] as const;
  for (const field of texts) {
    if (options[field] !== undefined) Object.assign(given, { [field]: options[field] });
  }
  return create(RolloutSpecSchema, { ...written, ...given });
}

/** A selection on the command line replaces that of the file. */
function selectionOf(args: readonly string[], options: RolloutOptions) {
  const chosen = filterOf(options);
  if (chosen !== '' && options.all === true)
    throw new UsageError('--all selects every machine: remove --filter and -l');
  const filter = options.all === true ? EVERY_MACHINE : chosen;
  if (args.length > 0 && filter !== '')
    throw new UsageError('give machine ids, or --filter, -l or --all, not both');
  if (args.some((id) => id === '')) throw new UsageError('a machine id is empty');
  if (args.length > 0) return { machineIds: [...new Set(args)], filter: '' };
  return filter === '' ? {} : { filter, machineIds: [] };
}

function wavesOf({ waves, by, order, gates }: RolloutOptions) {
  return {
    ...(waves !== undefined && { waves: [...waves], by: '', order: [] }),
    ...(by !== undefined && { by, waves: [] }),
    ...(order !== undefined && { order: [...order] }),
    ...(gates !== undefined && { gates: [...gates] }),
  };
}
