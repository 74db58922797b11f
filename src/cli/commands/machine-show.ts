import { Command } from 'commander';
import type { Machine } from '../../gen/baremetal/v2/machine_pb.ts';
import type { CommandContext } from '../context.ts';
import { machineRendering, writeMachineDetail } from '../machine-rendering.ts';
import { addOutput } from '../options.ts';
import { type OutputFormat, writeOne } from '../output/format.ts';

export function showMachine(context: CommandContext): Command {
  const command = new Command('show').alias('get').description('Show one machine').argument('<machine-id>');
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [machineId], options, api }) => {
      const machine = await api.machines.getMachine({ machineId: machineId ?? '' });
      writeMachine(context, options.output, machine);
      return 'ok';
    }),
  );
}

export function writeMachine(context: CommandContext, output: OutputFormat, machine: Machine): void {
  const now = context.now();
  writeOne(context.out, output, machineRendering(now), machine, () =>
    writeMachineDetail(context.out, machine, now),
  );
}
