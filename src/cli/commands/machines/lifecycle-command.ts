/** reboot, reimage, enter-maintenance and exit-maintenance: one command for four calls. */
import { Command } from 'commander';
import { PHASE_GATED_TYPES, type PhaseGatedType } from '../../../domain/operation/phase-gated-type.ts';
import type { Operation } from '../../../gen/baremetal/v2/operation_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { type SelectionOptions, selectMachines } from '../../input/machine-selection.ts';
import { addExamples, addFilter, addOutput, addWaiting } from '../../input/options.ts';
import {
  addStarting,
  checkRequestId,
  type StartOptions,
  type StartRequest,
  startOperation,
} from '../../operations/start-operation.ts';
import { OPERATIONS, operationView } from '../../operations/v2-operations.ts';

interface LifecycleOptions extends SelectionOptions, StartOptions {
  readonly image?: string;
}

interface Verb {
  readonly description: string;
  readonly timeout: string;
  readonly start: (api: Api, request: StartRequest & { readonly imageRef: string }) => Promise<Operation>;
}

const VERBS = {
  REBOOT: {
    description: 'Reboot a machine, or several',
    timeout: '1h',
    start: (api, { machineId, requestId }) => api.machines.rebootMachine({ machineId, requestId }),
  },
  REIMAGE: {
    description: 'Reimage (requires MAINTENANCE); erases the disk',
    timeout: '2h',
    start: (api, request) => api.machines.reimageMachine(request),
  },
  ENTER_MAINTENANCE: {
    description: 'Enter maintenance mode',
    timeout: '1h',
    start: (api, { machineId, requestId }) => api.machines.enterMaintenance({ machineId, requestId }),
  },
  EXIT_MAINTENANCE: {
    description: 'Exit maintenance mode',
    timeout: '1h',
    start: (api, { machineId, requestId }) => api.machines.exitMaintenance({ machineId, requestId }),
  },
} as const satisfies Record<PhaseGatedType, Verb>;

export function lifecycleCommand(context: CommandContext, type: PhaseGatedType): Command {
  const { verb, destructive } = PHASE_GATED_TYPES[type];
  const { description, timeout } = VERBS[type];
  const command = new Command(verb).description(description).argument('[machine-id...]');
  if (type === 'REIMAGE')
    command.option(
      '--image <ref>',
      "OS image, for example ubuntu-2204, or ubuntu/noble on MAAS (default: the provider's)",
    );
  addExamples(command, context.program, [
    `${verb} machine-1${type === 'REIMAGE' ? ' --image ubuntu-2204' : ''}`,
    `${verb} -l rack=r42 --yes --no-wait`,
  ]);
  addStarting(addFilter(command).option('--all', 'every machine'), 'operation');
  return addOutput(addWaiting(command, timeout, 'operation')).action(
    context.action<LifecycleOptions>(async ({ args, options, api }) => {
      checkRequestId(options);
      const imageRef = options.image ?? '';
      return startOperation({
        context,
        api,
        source: OPERATIONS,
        selection: await selectMachines(api, args, options),
        verb,
        isDestructive: destructive,
        start: async (request) => operationView(await VERBS[type].start(api, { ...request, imageRef })),
        retryCommand: (machineId) =>
          `${context.program} ${verb} ${machineId}${imageRef === '' ? '' : ` --image ${imageRef}`}`,
        options,
      });
    }),
  );
}
