import { Argument, Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addOutput, oneOf, requireReason } from '../../input/options.ts';
import type { OutputFormat } from '../../output/format.ts';
import { writeMachine } from './show-machine.ts';

export function setServiceState(context: CommandContext): Command {
  const command = new Command('service')
    .description('Set the service state of a machine, such as quarantined to active')
    .argument('<machine-id>')
    .addArgument(oneOf(new Argument('<state>'), ['active', 'quarantined', 'offline', 'retired']));
  command.option(
    '--force',
    'set active although the upstream, such as MAAS, reports that the machine is not deployed; until the upstream reports another state',
  );
  return addOutput(requireReason(command)).action(
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
