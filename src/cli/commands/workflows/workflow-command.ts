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
  /** How it is typed, where it is in a group. */
  readonly typed?: string;
  readonly description: string;
  readonly isDestructive: boolean;
  /** Also one machine needs a confirmation: its name. */
  readonly confirmsName?: true;
  /** Throws where the arguments are wrong, before anything is asked or sent. */
  readonly check?: (args: readonly string[], options: O) => void;
  readonly start: (
    api: Api,
    request: StartRequest,
    options: O,
    args: readonly string[],
  ) => Promise<Operation>;
  /** The same on many machines; absent where its options are for one. */
  readonly step?: (options: O) => StepChoice;
  /** The options of the command line that repeats it. */
  readonly same: (options: O, args: readonly string[]) => string;
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
      workflow.check?.(args, options);
      const typed = workflow.typed ?? workflow.name;
      const machineIds = workflow.step === undefined ? args.slice(0, 1) : args;
      return startOperation({
        context,
        api,
        source: OPERATIONS,
        selection: await selectMachines(context, api, machineIds, options),
        verb: typed,
        isDestructive: workflow.isDestructive,
        ...(workflow.confirmsName && { confirmsName: true }),
        start: async (request) => operationView(await workflow.start(api, request, options, args)),
        step: workflow.step?.(options),
        retryCommand: (machineId) =>
          `${context.program} ${typed} ${machineId}${workflow.same(options, args)}`,
        options,
      });
    }),
  );
}
