/** A command that starts an operation on machines, on one or on several, and waits for it. */
import { Command } from 'commander';
import type { Operation } from '../../../gen/baremetal/v2/operation_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { type SelectionOptions, selectMachines } from '../../input/machine-selection.ts';
import { addOutput, addWaiting } from '../../input/options.ts';
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

interface Workflow<O> {
  readonly name: string;
  readonly description: string;
  readonly isDestructive: boolean;
  /** Also one machine needs a confirmation: its name. */
  readonly confirmsName?: true;
  readonly start: (api: Api, request: StartRequest, options: O) => Promise<Operation>;
  /** The same on many machines; absent where its options are for one. */
  readonly step?: (options: O) => StepChoice;
  /** The options of the command line that repeats it. */
  readonly same: (options: O) => string;
  readonly timeout: string;
  readonly more?: (command: Command) => Command;
}

export function workflowCommand<O>(context: CommandContext, workflow: Workflow<O>): Command {
  const bare = new Command(workflow.name).description(workflow.description);
  if (workflow.step === undefined) bare.argument('<machine-id>');
  else bare.argument(...MACHINES);
  const command = workflow.more?.(bare) ?? bare;
  if (workflow.step !== undefined) addMany(command);
  return addOutput(addWaiting(addStarting(command, 'operation'), workflow.timeout, 'operation')).action(
    context.action<O & StartOptions & SelectionOptions>(async ({ args, options, api }) => {
      checkRequestId(options);
      return startOperation({
        context,
        api,
        source: OPERATIONS,
        selection: await selectMachines(context, api, args, options),
        verb: workflow.name,
        isDestructive: workflow.isDestructive,
        ...(workflow.confirmsName && { confirmsName: true }),
        start: async (request) => operationView(await workflow.start(api, request, options)),
        step: workflow.step?.(options),
        retryCommand: (machineId) =>
          `${context.program} ${workflow.name} ${machineId}${workflow.same(options)}`,
        options,
      });
    }),
  );
}
