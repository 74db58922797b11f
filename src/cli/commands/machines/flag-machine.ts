import { Argument, Command } from 'commander';
import { MachineFlag_Value } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addOutput, oneOf, requireReason } from '../../input/options.ts';
import type { OutputFormat } from '../../output/format.ts';
import { writeMachine } from './show-machine.ts';

const FLAGS = { rma: MachineFlag_Value.RMA, retired: MachineFlag_Value.RETIRED } as const;

interface AdminOptions {
  readonly output: OutputFormat;
  readonly reason: string;
}

function flagCommand(context: CommandContext, name: 'flag' | 'unflag', description: string): Command {
  const call = name === 'flag' ? 'flagMachine' : 'unflagMachine';
  const command = new Command(name)
    .description(description)
    .argument('<machine-id>')
    .addArgument(oneOf(new Argument('<flag>'), Object.keys(FLAGS)));
  return addOutput(requireReason(command)).action(
    context.action<AdminOptions>(async ({ args: [machineId = '', flag], options, api }) => {
      const request = { machineId, flag: FLAGS[flag as keyof typeof FLAGS], reason: options.reason };
      writeMachine(context, options.output, await api.admin[call](request));
      return 'ok';
    }),
  );
}

export function flagMachine(context: CommandContext): Command {
  return flagCommand(context, 'flag', 'Flag a machine RMA or retired: it takes no new operations (admin)');
}

export function unflagMachine(context: CommandContext): Command {
  return flagCommand(context, 'unflag', 'Remove a flag from a machine (admin)');
}

export function clearMachine(context: CommandContext): Command {
  const command = new Command('clear')
    .description('Clear NeedsIntervention after an intervention (admin)')
    .argument('<machine-id>');
  return addOutput(requireReason(command)).action(
    context.action<AdminOptions>(async ({ args: [machineId = ''], options, api }) => {
      const machine = await api.admin.clearNeedsIntervention({ machineId, reason: options.reason });
      writeMachine(context, options.output, machine);
      return 'ok';
    }),
  );
}
