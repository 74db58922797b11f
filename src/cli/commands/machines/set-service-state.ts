import { Argument, Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addOutput, addReason, oneOf } from '../../input/options.ts';
import type { OutputFormat } from '../../output/format.ts';
import { writeMachine } from './show-machine.ts';

export function setServiceState(context: CommandContext): Command {
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
