/** reboot, reimage, enter-maintenance and exit-maintenance: one command for four calls. */
import { Command } from 'commander';
import { PHASE_GATED_TYPES, type PhaseGatedType } from '../../../domain/operation/phase-gated-type.ts';
import type { Operation } from '../../../gen/baremetal/v2/operation_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { type SelectionOptions, selectMachines } from '../../input/machine-selection.ts';
import { addExamples, addOutput, addWaiting } from '../../input/options.ts';
import type { StepChoice } from '../../input/rollout-steps.ts';
import {
  addMany,
  addStarting,
  checkRequestId,
  MACHINES,
  type StartOptions,
  type StartRequest,
  startOperation,
} from '../../operations/start-operation.ts';
import { OPERATIONS, operationView } from '../../operations/v2-operations.ts';

interface LifecycleOptions extends SelectionOptions, StartOptions {
  readonly image?: string;
  readonly duration?: string;
  readonly exitWhenOver?: true;
}

interface Verb {
  readonly description: string;
  readonly timeout: string;
  readonly start: (api: Api, request: StartRequest, options: LifecycleOptions) => Promise<Operation>;
  readonly step: (options: LifecycleOptions) => StepChoice;
}

const VERBS = {
  REBOOT: {
    description: 'Reboot a machine, or several',
    timeout: '1h',
    start: (api, request) => api.machines.rebootMachine(request),
    step: () => ({ case: 'reboot', value: {} }),
  },
  REIMAGE: {
    description: 'Reimage (requires MAINTENANCE); erases the disk',
    timeout: '2h',
    start: (api, request, { image = '' }) => api.machines.reimageMachine({ ...request, imageRef: image }),
    step: ({ image = '' }) => ({ case: 'reimage', value: { imageRef: image } }),
  },
  ENTER_MAINTENANCE: {
    description: 'Enter maintenance mode',
    timeout: '1h',
    start: (api, request, { duration = '', exitWhenOver }) =>
      api.machines.enterMaintenance({ ...request, duration, exitWhenOver: exitWhenOver === true }),
    step: ({ duration = '', reason = '', exitWhenOver }) => ({
      case: 'enterMaintenance',
      value: { duration, reason, exitWhenOver: exitWhenOver === true },
    }),
  },
  EXIT_MAINTENANCE: {
    description: 'Exit maintenance mode',
    timeout: '1h',
    start: (api, request) => api.machines.exitMaintenance(request),
    step: () => ({ case: 'exitMaintenance', value: {} }),
  },
} as const satisfies Record<PhaseGatedType, Verb>;

export const reboot = (context: CommandContext): Command => lifecycleCommand(context, 'REBOOT');
export const reimage = (context: CommandContext): Command => lifecycleCommand(context, 'REIMAGE');
export const enterMaintenance = (context: CommandContext): Command =>
  lifecycleCommand(context, 'ENTER_MAINTENANCE');
export const exitMaintenance = (context: CommandContext): Command =>
  lifecycleCommand(context, 'EXIT_MAINTENANCE');

function lifecycleCommand(context: CommandContext, type: PhaseGatedType): Command {
  const { verb, destructive } = PHASE_GATED_TYPES[type];
  const { description, timeout } = VERBS[type];
  const command = new Command(verb).description(description).argument(...MACHINES);
  if (type === 'REIMAGE')
    command.option(
      '--image <ref>',
      "OS image, for example ubuntu-2204, or ubuntu/noble on MAAS (default: the provider's)",
    );
  if (type === 'ENTER_MAINTENANCE')
    command
      .option(
        '--duration <time>',
        'how long it is meant to last, such as 30m, 2h or 1d (default: without end)',
      )
      .option('--exit-when-over', 'return to service by itself when the duration is over');
  addExamples(command, context.program, [
    `${verb} machine-1${type === 'REIMAGE' ? ' --image ubuntu-2204' : ''}`,
    `${verb} -l rack=r42 --dry-run`,
    `list --filter needs_attention=true -o name | ${context.program} ${verb} - --yes`,
    `${verb} -l rack=r42 --max-parallel 5 --stop-after-failures 3`,
  ]);
  addStarting(addMany(command), 'operation');
  return addOutput(addWaiting(command, timeout, 'operation')).action(
    context.action<LifecycleOptions>(async ({ args, options, api }) => {
      checkRequestId(options);
      const imageRef = options.image ?? '';
      return startOperation({
        context,
        api,
        source: OPERATIONS,
        selection: await selectMachines(context, api, args, options),
        verb,
        isDestructive: destructive,
        start: async (request) => operationView(await VERBS[type].start(api, request, options)),
        step: VERBS[type].step(options),
        retryCommand: (machineId) =>
          `${context.program} ${verb} ${machineId}${imageRef === '' ? '' : ` --image ${imageRef}`}${maintenanceText(options)}`,
        options,
      });
    }),
  );
}

function maintenanceText({ duration, exitWhenOver }: LifecycleOptions): string {
  return `${duration === undefined ? '' : ` --duration ${duration}`}${exitWhenOver ? ' --exit-when-over' : ''}`;
}
