/** The steps of a rollout as options. They are carried out in the order in which they are typed. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Command, Option } from 'commander';
import { RUN_TYPE_NAMES, type RunType } from '../../domain/v1/run-type.ts';
import { DECOMMISSION_MODE_NAMES } from '../../domain/workflow/stage.ts';
import type { RolloutStep, RolloutStepSchema } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { duration, oneOf } from './options.ts';

export type StepInit = MessageInitShape<typeof RolloutStepSchema>;
export type StepChoice = NonNullable<StepInit['step']>;

/** Options that belong to a step, wherever they are typed. */
interface StepOptions {
  readonly maintenanceDuration?: string;
  readonly verifyFor?: string;
  readonly verifyTimeout?: string;
  readonly planType?: string;
  readonly fullOverwrite?: boolean;
  readonly reason?: string;
}

/** Builds the step when all options are known. */
type TypedStep = (options: StepOptions) => StepChoice;

interface StepFlag {
  readonly option: Option;
  readonly step: (value: string) => TypedStep;
}

const FLAGS: readonly StepFlag[] = [
  {
    option: new Option('--enter-maintenance', 'step: enter maintenance'),
    step: () => (options) => ({
      case: 'enterMaintenance',
      value: { duration: options.maintenanceDuration ?? '', reason: options.reason ?? '' },
    }),
  },
  {
    option: new Option('--reimage <image>', "step: write this image; '' is the provider's default"),
    step: (imageRef) => () => ({ case: 'reimage', value: { imageRef } }),
  },
  {
    option: new Option('--reboot', 'step: reboot'),
    step: () => () => ({ case: 'reboot', value: {} }),
  },
  {
    option: new Option('--verify <condition>', 'step: wait until this condition, or this filter, holds'),
    step: (what) => (options) => ({
      case: 'verify',
      value: {
        ...(/^[\w.-]+$/.test(what) ? { condition: what } : { filter: what }),
        for: options.verifyFor ?? '',
        timeout: options.verifyTimeout ?? '',
      },
    }),
  },
  {
    option: new Option('--exit-maintenance', 'step: exit maintenance'),
    step: () => () => ({ case: 'exitMaintenance', value: {} }),
  },
  {
    option: new Option('--plan <plan-id>', 'step: execute this plan of the v1 API, with --plan-type'),
    step: (planId) => (options) => ({ case: 'plan', value: { planId, type: options.planType ?? '' } }),
  },
  {
    option: new Option('--onboard <pool>', 'step: onboard into this pool'),
    step: (pool) => () => ({ case: 'onboard', value: { pool } }),
  },
  {
    option: oneOf(new Option('--decommission <mode>', 'step: take out of service'), DECOMMISSION_MODE_NAMES),
    step: (mode) => () => ({ case: 'decommission', value: { mode } }),
  },
  {
    option: new Option('--drain', 'step: take out of scheduling'),
    step: () => () => ({ case: 'drain', value: {} }),
  },
  {
    option: new Option('--remove', 'step: remove from the inventory permanently'),
    step: () => () => ({ case: 'remove', value: {} }),
  },
  {
    option: new Option('--erase', 'step: erase every disk'),
    step: () => (options) => ({
      case: 'erase',
      value: { overwrite: options.fullOverwrite === true ? 'whole' : 'ends' },
    }),
  },
];

const checkedDuration = (text: string): string => {
  duration(text);
  return text;
};

/** Adds the options, and returns what builds the steps from those that were typed. */
export function addSteps(command: Command): (options: StepOptions) => StepInit[] {
  const typed: TypedStep[] = [];
  for (const { option, step } of FLAGS) {
    command.addOption(option);
    command.on(`option:${option.name()}`, (value: string | null) => typed.push(step(value ?? '')));
  }
  command
    .option(
      '--maintenance-duration <time>',
      'of --enter-maintenance: for how long, such as 2h',
      checkedDuration,
    )
    .option('--verify-for <time>', 'of --verify: for how long without a break', checkedDuration)
    .option('--verify-timeout <time>', 'of --verify: how long it may take (default: 30m)', checkedDuration)
    .addOption(oneOf(new Option('--plan-type <type>', 'of --plan: the type of the run'), RUN_TYPE_NAMES))
    .option('--full-overwrite', 'of --erase: overwrite disks without an erase command completely');
  return (options) => typed.map((build) => ({ step: build(options) }));
}

/** What erases data, or ends the service of a machine. */
const IS_DESTRUCTIVE = {
  enterMaintenance: false,
  exitMaintenance: false,
  reboot: false,
  reimage: true,
  verify: false,
  onboard: true,
  decommission: true,
  drain: false,
  remove: true,
  erase: true,
} as const satisfies Record<Exclude<RolloutStep['step']['case'], 'plan' | undefined>, boolean>;

/** Whether a type of runs erases data on the machine. */
export const ERASING_RUN_TYPES = {
  REPAVE: true,
  RMA: true,
  REBOOT: false,
  UPGRADE: false,
  NET_RECONFIG: false,
  JOIN: false,
} as const satisfies Record<RunType, boolean>;

export function isDestructive({ step }: RolloutStep): boolean {
  if (step.case === undefined) return false;
  if (step.case !== 'plan') return IS_DESTRUCTIVE[step.case];
  const { planId, type } = step.value;
  const known = RUN_TYPE_NAMES.find((name) => name === type);
  // A custom plan may be destructive whatever its type.
  return planId !== '' || known === undefined || ERASING_RUN_TYPES[known];
}
