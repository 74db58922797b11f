/** One machine's hardware, section by section. */
import { Command } from 'commander';
import { bytesText } from '../../../domain/agent/metric-text.ts';
import {
  type Drive,
  type Hardware,
  HardwareSchema,
  type NetworkPort,
} from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import type { CommandContext } from '../../command-context.ts';
import { addOutput } from '../../input/options.ts';
import { jsonOf, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { padEnd, plainText } from '../../output/plain-text.ts';
import { ageText } from '../../output/time-text.ts';

const HARDWARE: Rendering<Hardware> = {
  json: (hardware) => jsonOf(HardwareSchema, hardware),
  name: ({ machineId }) => machineId,
  columns: [],
  wideColumns: [],
};

export function showHardware(context: CommandContext): Command {
  const command = new Command('show')
    .description('Show what a machine is made of, from all sources, with its source and age')
    .argument('<machine-id>');
  return addOutput(command).action(
    context.action<{ output: OutputFormat }>(async ({ args: [machineId = ''], options, api }) => {
      const hardware = await api.hardware.getHardware({ machineId });
      writeOne(context.out, options.output, HARDWARE, hardware, () => writeHardware(context, hardware));
      return 'ok';
    }),
  );
}

const WIDTH = 14;

function writeHardware(context: CommandContext, hardware: Hardware): void {
  if (hardware.sources.length === 0) {
    const { machineId } = hardware;
    context.err.line(
      `nothing is known of the hardware of ${plainText(machineId)}: ${context.program} inspect ${plainText(machineId)}`,
    );
    return;
  }
  for (const [label, text] of linesOf(hardware, context.now()))
    context.out.line(`${padEnd(`${label}:`, WIDTH)}${plainText(text)}`);
}

type Line = [label: string, text: string];

function linesOf(hardware: Hardware, now: number): Line[] {
  const lines = [
    ...systemLines(hardware),
    ...partLines(hardware),
    ...emptyLines(hardware),
    ...sourceLines(hardware, now),
    ...profileLines(hardware),
  ];
  return lines.filter(([, text]) => text !== '');
}

function systemLines({
  system,
  processors,
  cpuModel,
  cpuCores,
  memoryBytes,
  memoryModules,
}: Hardware): Line[] {
  return [
    [
      'System',
      words(system?.vendor, system?.model, named('serial', system?.serialNumber), named('SKU', system?.sku)),
    ],
    ['UUID', system?.uuid ?? ''],
    ['BIOS', words(system?.biosVendor, system?.biosVersion, system?.biosDate)],
    ['Processors', processors.length > 0 ? '' : words(cpuModel, counted(cpuCores, 'cores'))],
    ...processors.map((part): Line => {
      const counts = words(counted(part.cores, 'cores'), counted(part.threads, 'threads'));
      return ['Processor', words(part.slot, part.model, counts, ill(part.health))];
    }),
    ['Memory', memoryBytes === 0n ? '' : bytesText(Number(memoryBytes))],
    ...memoryModules.map((part): Line => {
      const { slot, type, manufacturer, partNumber, serialNumber, health } = part;
      const size = bytesText(Number(part.sizeBytes));
      return [
        'Module',
        words(slot, size, type, manufacturer, partNumber, named('serial', serialNumber), ill(health)),
      ];
    }),
  ];
}

function partLines({ drives, nics, gpus, pcieDevices, powerSupplies, firmware }: Hardware): Line[] {
  return [
    ...drives.map((part): Line => ['Drive', driveText(part)]),
    ...nics.map((part): Line => ['NIC', portText(part)]),
    ...gpus.map((part): Line => {
      const model = part.model || ids(part.vendorId, part.deviceId);
      const numbers = words(named('serial', part.serialNumber), named('firmware', part.firmwareVersion));
      return ['GPU', words(part.slot || part.pciAddress, model, numbers, ill(part.health))];
    }),
    ...pcieDevices.map((part): Line => {
      return ['PCIe', words(part.slot, part.manufacturer, part.model, part.deviceClass, ill(part.health))];
    }),
    ...powerSupplies.map((part): Line => {
      const power = counted(part.capacityWatts, 'W');
      return [
        'Power supply',
        words(part.slot, part.model, power, named('serial', part.serialNumber), ill(part.health)),
      ];
    }),
    ...firmware.map((part): Line => ['Firmware', words(part.name || part.component, part.version)]),
  ];
}

/** "memory A4, A8; power supply PSU.2" */
function emptyLines({ emptySlots }: Hardware): Line[] {
  const kinds = [...new Set(emptySlots.map(({ kind }) => kind))];
  const texts = kinds.map((kind) => {
    const slots = emptySlots.filter((empty) => empty.kind === kind).map(({ slot }) => slot);
    return `${kind.replaceAll('_', ' ')} ${slots.join(', ')}`;
  });
  return [['Empty slots', texts.join('; ')]];
}

function sourceLines({ sources }: Hardware, now: number): Line[] {
  return sources.map(({ source, version, reportedAt, changedAt }) => [
    'Source',
    words(
      source,
      version === 0 ? '' : `version ${version}`,
      `reported ${ageText(reportedAt, now)} ago`,
      changedAt ? `unchanged for ${ageText(changedAt, now)}` : '',
    ),
  ]);
}

function profileLines({ profiles, differences }: Hardware): Line[] {
  const matches = differences.length === 0 ? ', which it matches' : '';
  return [
    ['Profiles', profiles.length === 0 ? '' : `${profiles.join(', ')}${matches}`],
    ...differences.map((difference): Line => ['DIFFERS', difference]),
  ];
}

function words(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join(', ');
}

function named(name: string, value: string | undefined): string {
  return value ? `${name} ${value}` : '';
}

function counted(count: number, noun: string): string {
  return count === 0 ? '' : `${count} ${noun}`;
}

function ids(vendor: string, device: string): string {
  return vendor === '' ? '' : `${vendor}:${device}`;
}

/** Health is worth a word only where something is wrong. */
function ill(health: string): string {
  return health === '' || health === 'OK' ? '' : `HEALTH ${health}`;
}

function driveText(drive: Drive): string {
  const { slot, name, sizeBytes, model, serialNumber, protocol, media, lifeLeftPercent, health } = drive;
  return words(
    slot || name,
    slot === '' ? '' : name,
    sizeBytes === 0n ? '' : bytesText(Number(sizeBytes)),
    model,
    words(protocol, media),
    named('serial', serialNumber),
    lifeLeftPercent === undefined ? '' : `${lifeLeftPercent} % of its life left`,
    ill(health),
  );
}

function portText(port: NetworkPort): string {
  const { slot, name, macAddress, link, speedMbps, manufacturer, model, neighbour, neighbourPort, health } =
    port;
  return words(
    slot || name,
    slot === '' ? '' : name,
    macAddress,
    link === undefined ? '' : link ? 'link' : 'no link',
    speedMbps === 0n ? '' : `${speedMbps} Mb/s`,
    words(manufacturer, model),
    neighbour === '' ? '' : `to ${neighbour} ${neighbourPort}`.trim(),
    ill(health),
  );
}
