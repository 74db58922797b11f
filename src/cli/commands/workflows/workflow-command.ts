/** A command that starts an operation on machines, on one or on several, and waits for it. */
import { Command } from 'commander';
import type { Operation } from '../../../gen/baremetal/v2/operation_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { selectMachines } from '../../input/machine-selection.ts';
import { addOutput, addWaiting } from '../../input/options.ts';
import {
  addStarting,
  checkRequestId,
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
  /** Its options are for one machine. */
  readonly one?: true;
  readonly start: (api: Api, request: StartRequest, options: O) => Promise<Operation>;
  /** The options of the command line that repeats it. */
  readonly same: (options: O) => string;
  readonly timeout: string;
  readonly more?: (command: Command) => Command;
}

export function workflowCommand<O>(context: CommandContext, workflow: Workflow<O>): Command {
  const machines = workflow.one ? '<machine-id>' : '<machine-id...>';
  const bare = new Command(workflow.name).description(workflow.description).argument(machines);
  const command = workflow.more?.(bare) ?? bare;
  return addOutput(addWaiting(addStarting(command, 'operation'), workflow.timeout, 'operation')).action(
    context.action<O & StartOptions>(async ({ args, options, api }) => {
      checkRequestId(options);
      return startOperation({
        context,
        api,
        source: OPERATIONS,
        selection: await selectMachines(api, args, {}),
        verb: workflow.name,
        isDestructive: workflow.isDestructive,
        ...(workflow.confirmsName && { confirmsName: true }),
        start: async (request) => operationView(await workflow.start(api, request, options)),
        retryCommand: (machineId) =>
          `${context.program} ${workflow.name} ${machineId}${workflow.same(options)}`,
        options,
      });
    }),
  );
}
