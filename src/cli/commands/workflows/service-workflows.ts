/** Into service and out of it: document 3's workflows. */
import { Argument, Command, Option } from 'commander';
import {
  DECOMMISSION_MODE_NAMES,
  DECOMMISSION_MODES,
  type DecommissionMode,
} from '../../../domain/workflow/stage.ts';
import {
  DecommissionMode_Value,
  ExplanationSchema,
} from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { Operation } from '../../../gen/baremetal/v2/operation_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Api } from '../../connection/api.ts';
import { selectMachines } from '../../input/machine-selection.ts';
import { addOutput, addReason, addWaiting, oneOf } from '../../input/options.ts';
import {
  addStarting,
  checkRequestId,
  type StartOptions,
  type StartRequest,
  startOperation,
} from '../../operations/start-operation.ts';
import { OPERATIONS, operationView } from '../../operations/v2-operations.ts';
import { jsonOf, type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { writeUpstream } from '../../rendering/upstream-rendering.ts';
import { writeMachine } from '../machines/show-machine.ts';

interface Workflow<O> {
  readonly name: string;
  readonly description: string;
  readonly isDestructive: boolean;
  /** One machine is confirmed by its name, too. */
  readonly confirmsName?: true;
  /** What it takes belongs to one machine. */
  readonly one?: true;
  readonly start: (api: Api, request: StartRequest, options: O) => Promise<Operation>;
  /** The options that make it what it is, for the command line that asks for the same again. */
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
        sameAgain: (machineId) => `${context.program} ${workflow.name} ${machineId}${workflow.same(options)}`,
        options,
      });
    }),
  );
}

export function onboardMachine(context: CommandContext): Command {
  return workflowCommand<{ pool: string }>(context, {
    name: 'onboard',
    description: 'Take a machine from bare metal into service, through its provider',
    isDestructive: true,
    timeout: '6h',
    more: (command) => command.requiredOption('--pool <name>', 'the worker pool that its agent enrols in'),
    start: (api, request, { pool }) => api.admin.onboardMachine({ ...request, pool }),
    same: ({ pool }) => ` --pool ${pool}`,
  });
}

const MODES = {
  soft_reset: DecommissionMode_Value.SOFT_RESET,
  reimage: DecommissionMode_Value.REIMAGE,
  full_decommission: DecommissionMode_Value.FULL_DECOMMISSION,
  storage_cleanup: DecommissionMode_Value.STORAGE_CLEANUP,
} as const satisfies Record<DecommissionMode, DecommissionMode_Value>;

export function decommissionMachine(context: CommandContext): Command {
  const modes = DECOMMISSION_MODE_NAMES.map(
    (mode) => `  ${mode.padEnd(20)}${DECOMMISSION_MODES[mode].purpose}`,
  );
  return workflowCommand<{ mode: DecommissionMode }>(context, {
    name: 'decommission',
    description: 'Take a machine out of service, in one of four modes',
    isDestructive: true,
    timeout: '6h',
    more: (command) =>
      command
        .addOption(
          oneOf(new Option('--mode <mode>', 'how far'), DECOMMISSION_MODE_NAMES).makeOptionMandatory(),
        )
        .addHelpText('after', `\nModes:\n${modes.join('\n')}`),
    start: (api, request, { mode }) => api.admin.decommissionMachine({ ...request, mode: MODES[mode] }),
    same: ({ mode }) => ` --mode ${mode}`,
  });
}

export function drainMachine(context: CommandContext): Command {
  return workflowCommand<Record<string, never>>(context, {
    name: 'drain',
    description:
      'Take a machine out of scheduling; of one that is draining already, return the operation that does it',
    isDestructive: false,
    timeout: '2h',
    start: (api, request) => api.admin.drainMachine(request),
    same: () => '',
  });
}

export function removeMachine(context: CommandContext): Command {
  return workflowCommand<Record<string, never>>(context, {
    name: 'remove',
    description: 'Take a retired machine out of the inventory for good; its identity never comes back',
    isDestructive: true,
    timeout: '1h',
    start: (api, request) => api.admin.removeMachine(request),
    same: () => '',
  });
}

export function setService(context: CommandContext): Command {
  const command = new Command('service')
    .description('Set a service state that is a person’s to set, such as quarantined to active')
    .argument('<machine-id>')
    .addArgument(oneOf(new Argument('<state>'), ['active', 'quarantined', 'offline', 'retired']));
  command.option(
    '--force',
    'to active although its upstream, such as MAAS, says that it is not deployed; counts until that says something else',
  );
  return addOutput(addReason(command)).action(
    context.action<{ output: OutputFormat; reason: string; force?: true }>(
      async ({ args: [machineId = '', service = ''], options, api }) => {
        const { reason, force = false } = options;
        const machine = await api.admin.setServiceState({ machineId, service, reason, force });
        writeMachine(context, options.output, machine);
        return 'ok';
      },
    ),
  );
}

export function explainMachine(context: CommandContext): Command {
  const command = new Command('explain')
    .description('Say why a machine is not in service, what unblocks it and who must act')
    .argument('<machine-id>');
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [machineId = ''], options, api }) => {
      const explanation = await api.admin.explainMachine({ machineId });
      const rendering = {
        json: () => jsonOf(ExplanationSchema, explanation),
        name: () => machineId,
        columns: [],
        wideColumns: [],
      };
      writeOne(context.out, options.output, rendering, explanation, () => {
        context.out.line(plainText(explanation.summary));
        if (explanation.upstream) {
          context.out.line('');
          writeUpstream(context.out, explanation.upstream, context.now());
        }
        for (const { what, unblock, who, command: next } of explanation.obstacles) {
          context.out.line('');
          context.out.line(`What:     ${plainText(what)}`);
          context.out.line(`Unblock:  ${plainText(unblock)}`);
          context.out.line(`Who:      ${plainText(who)}`);
          if (next !== '') context.out.line(`Command:  ${context.program} ${plainText(next)}`);
        }
      });
      return 'ok';
    }),
  );
}
