/** Work on the hardware of machines: erasing their disks. */
import type { Command } from 'commander';
import { ERASE_METHOD_NAMES, ERASE_METHODS } from '../../domain/erasure.ts';
import { HARDWARE_WORK } from '../../domain/hardware-work.ts';
import { Overwrite_Value } from '../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../context.ts';
import { workflowCommand } from './node-lifecycle.ts';

const ERASE_HELP = `
Needs phase MAINTENANCE and install state active (or deprovisioning, to take an erasure up again). The machine boots
Ingot's installer over its BMC and erases every disk that is not removable, on USB or read-only. Each is erased by the
surest way that it has, and read back afterwards:
${ERASE_METHOD_NAMES.filter((method) => method !== 'none')
  .map((method) => `  ${method.padEnd(20)}${ERASE_METHODS[method]}`)
  .join('\n')}
A disk without an erase command is written over at its ends alone, and the evidence says so; --full-overwrite writes over
all of it. The evidence is in "ingot node history <machine-id>". A machine without a BMC is erased when it boots from the
network after "ingot node state <machine-id> deprovisioning".`;

export function eraseMachine(context: CommandContext): Command {
  return workflowCommand<{ fullOverwrite?: true }>(context, {
    name: 'erase',
    description: HARDWARE_WORK.ERASE.description,
    isDestructive: true,
    confirmsName: true,
    timeout: '48h',
    more: (command) =>
      command
        .option(
          '--full-overwrite',
          'write over the whole of disks that have no erase command; may take hours',
        )
        .addHelpText('after', ERASE_HELP),
    start: (api, request, { fullOverwrite }) =>
      api.admin.eraseMachine({
        ...request,
        overwrite: fullOverwrite ? Overwrite_Value.WHOLE : Overwrite_Value.ENDS,
      }),
    same: ({ fullOverwrite }) => (fullOverwrite ? ' --full-overwrite' : ''),
  });
}
