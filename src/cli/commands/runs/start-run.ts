import { Command, Option } from 'commander';
import { RUN_TYPE_NAMES, RUN_TYPES, type RunType } from '../../../domain/v1/run-type.ts';
import type { CommandContext } from '../../command-context.ts';
import { type SelectionOptions, selectMachines } from '../../input/machine-selection.ts';
import { addOutput, addWaiting, oneOf } from '../../input/options.ts';
import { ERASING_RUN_TYPES } from '../../input/rollout-steps.ts';
import {
  addMany,
  addStarting,
  checkRequestId,
  MACHINES,
  type StartOptions,
  startOperation,
} from '../../operations/start-operation.ts';
import { RUNS, runView } from '../../operations/v1-runs.ts';

interface RunOptions extends StartOptions, SelectionOptions {
  readonly type: RunType;
  readonly plan?: string;
}

export function startRun(context: CommandContext): Command {
  const command = new Command('start')
    .description('Start a run on one machine or several: it executes a plan step by step')
    .argument(...MACHINES)
    .addOption(
      oneOf(new Option('--type <type>', 'the type of the run'), RUN_TYPE_NAMES).makeOptionMandatory(),
    )
    .option('--plan <plan-id>', 'the plan to execute (default: the default plan of the type)')
    .addHelpText('after', helpAfter());
  return addOutput(addWaiting(addMany(addStarting(command, 'run')), '2h', 'run')).action(
    context.action<RunOptions>(async ({ args, options, api }) => {
      checkRequestId(options);
      const { type, plan: planId = '' } = options;
      return startOperation({
        context,
        api,
        source: RUNS,
        selection: await selectMachines(context, api, args, options),
        verb: `run ${type} on`,
        // A custom plan may be destructive whatever its type.
        isDestructive: ERASING_RUN_TYPES[type] || planId !== '',
        start: async (request) => runView(await api.runs.startRun({ ...request, type, planId })),
        step: { case: 'plan', value: { planId, type } },
        retryCommand: (machineId) => {
          const plan = planId === '' ? '' : ` --plan ${planId}`;
          return `${context.program} run start ${machineId} --type ${type}${plan}`;
        },
        options,
      });
    }),
  );
}

function helpAfter(): string {
  const types = RUN_TYPE_NAMES.map((type) => `  ${type.padEnd(14)}${RUN_TYPES[type].description}`);
  const destructive = RUN_TYPE_NAMES.filter((type) => ERASING_RUN_TYPES[type]).join(' and ');
  return `
Types:
${types.join('\n')}

${destructive} are destructive, a custom plan (--plan) may be. No run needs maintenance mode.
On one machine a run starts at once; on several, a destructive run asks for confirmation (--yes skips it).`;
}
