/** Operations on the hardware of machines: read what they have, erase their disks, move them to other hardware. */
import type { Command } from 'commander';
import { ERASE_METHOD_NAMES, ERASE_METHODS } from '../../../domain/install/erasure.ts';
import { HARDWARE_OPERATIONS } from '../../../domain/operation/hardware-operation.ts';
import { Overwrite_Value } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { several } from '../../input/options.ts';
import { workflowCommand } from './workflow-command.ts';

const INSPECT_HELP = `
Reads processors, memory modules, drives, network ports, GPUs, power supplies and firmware out of band, through the Redfish
service of the BMC. Nothing on the machine changes, and what runs there goes on. MAC addresses that are found fill
spec.mac_addresses where that is empty. With --in-band, the machine boots Ingot's installer instead, which reports what the
kernel finds, writes to no disk, and reboots: what runs there ends, so it must be FACTORY_READY or in MAINTENANCE. "ingot hardware show <machine-id>" shows what was found, and "ingot hardware
changes <machine-id>" what changed since the last time.`;

export function inspectMachine(context: CommandContext): Command {
  return workflowCommand<{ inBand?: true }>(context, {
    name: 'inspect',
    description: 'Read the hardware of the machine, through its BMC or in band',
    isDestructive: false,
    timeout: '1h',
    more: (command) =>
      command
        .option('--in-band', "boot the machine's installer, which reads the hardware")
        .addHelpText('after', INSPECT_HELP),
    start: (api, { machineId, requestId, reason }, { inBand }) =>
      api.hardware.inspectMachine({ machineId, requestId, reason: reason ?? '', inBand: inBand ?? false }),
    same: ({ inBand }) => (inBand ? ' --in-band' : ''),
  });
}

const ERASE_HELP = `
Needs phase MAINTENANCE and install state active (or deprovisioning, to continue an erasure). The machine boots
Ingot's installer over its BMC and erases every disk that is not removable, on USB or read-only. Each is erased
with the most reliable method that it supports, and read back afterwards:
${ERASE_METHOD_NAMES.filter((method) => method !== 'none')
  .map((method) => `  ${method.padEnd(20)}${ERASE_METHODS[method]}`)
  .join('\n')}
A disk without an erase command is overwritten at its ends only, and the evidence says so; --full-overwrite overwrites
all of it. The evidence is in "ingot node show <machine-id>" and "ingot node history <machine-id>". A machine without a BMC
is erased when it boots over the network after "ingot node state <machine-id> deprovisioning", which has --full-overwrite, too.`;

export function eraseMachine(context: CommandContext): Command {
  return workflowCommand<{ fullOverwrite?: true }>(context, {
    name: 'erase',
    description: HARDWARE_OPERATIONS.ERASE.description,
    isDestructive: true,
    confirmsName: true,
    timeout: '48h',
    more: (command) =>
      command
        .option('--full-overwrite', 'overwrite disks without an erase command completely; may take hours')
        .addHelpText('after', ERASE_HELP),
    start: (api, request, { fullOverwrite }) =>
      api.admin.eraseMachine({
        ...request,
        overwrite: fullOverwrite ? Overwrite_Value.WHOLE : Overwrite_Value.ENDS,
      }),
    step: ({ fullOverwrite }) => ({ case: 'erase', value: { overwrite: fullOverwrite ? 'whole' : 'ends' } }),
    same: ({ fullOverwrite }) => (fullOverwrite ? ' --full-overwrite' : ''),
  });
}

interface MigrateOptions {
  readonly mac: readonly string[];
  readonly serial?: string;
  readonly systemUuid?: string;
  readonly bmcEndpoint?: string;
  readonly image?: string;
}

const MIGRATE_HELP = `
Needs phase MAINTENANCE and install state active (or migrating, to continue a migration). The machine keeps its name,
its labels and its history, and takes the MAC addresses of the replacement. A discovered node with one of them is the
replacement and is merged; an address of any other machine is refused. The operation waits until the replacement boots
over the network or reports, and stops if it reports another serial number. Canceling it returns to the old hardware.
When it is finished, the agent of the old hardware is refused: issue a token for the new one with "ingot machine create
--machine-id <machine-id> --pool <pool>". The old hardware is discovered as another machine when it boots again.

Example:
  ingot migrate web-7 --mac 52:54:00:12:34:56 --serial CZ1234 --image ubuntu-24.04`;

export function migrateMachine(context: CommandContext): Command {
  return workflowCommand<MigrateOptions>(context, {
    name: 'migrate',
    description: HARDWARE_OPERATIONS.MIGRATE.description,
    isDestructive: true,
    timeout: '24h',
    more: (command) =>
      command
        .requiredOption('--mac <address>', 'a MAC address of the replacement (may be repeated)', several)
        .option('--serial <number>', 'the serial number that it must report')
        .option('--system-uuid <uuid>', 'the system UUID that it must report')
        .option('--bmc-endpoint <host[:port]>', 'its BMC (default: unchanged)')
        .option('--image <name>', 'install this image; the replacement is booted over its BMC')
        .addHelpText('after', MIGRATE_HELP),
    start: (api, request, { mac, serial, systemUuid, bmcEndpoint, image }) =>
      api.admin.migrateMachine({
        ...request,
        macAddresses: [...mac],
        serialNumber: serial ?? '',
        systemUuid: systemUuid ?? '',
        bmcEndpoint: bmcEndpoint ?? '',
        imageRef: image ?? '',
      }),
    same: ({ mac, serial, image }) =>
      [
        ...mac.map((address) => ` --mac ${address}`),
        serial === undefined ? '' : ` --serial ${serial}`,
        image === undefined ? '' : ` --image ${image}`,
      ].join(''),
  });
}
