/** A hardware inventory as text: one line for each part. */

import { bytesText } from '../agent/metric-text.ts';
import type { DiskFacts, GpuFacts, HardwareInventory, MemoryModule, NicFacts } from './hardware-inventory.ts';

/** The vendors that are frequent; others are shown by their number. */
const GPU_VENDORS: Readonly<Record<string, string>> = {
  '1002': 'AMD',
  '10de': 'NVIDIA',
  '102b': 'Matrox',
  '1234': 'QEMU',
  '1a03': 'ASPEED',
  '1af4': 'virtio',
  '8086': 'Intel',
};

export function hardwareLines(inventory: HardwareInventory): [label: string, text: string][] {
  const { system = {}, cpu = {}, memory = {}, disks = [], nics = [], gpus = [] } = inventory;
  const lines: [string, string][] = [
    ['system', words(system.vendor, system.model, named('serial', system.serial_number))],
    ['BIOS', words(system.bios_vendor, system.bios_version, system.bios_date)],
    ['CPU', words(cpu.model, counts(cpu), cpu.architecture)],
    ['memory', memory.total_bytes === undefined ? '' : bytesText(memory.total_bytes)],
    ...(memory.modules ?? []).map((module): [string, string] => ['module', moduleText(module)]),
    ...disks.map((disk): [string, string] => ['disk', diskText(disk)]),
    ...nics.map((nic): [string, string] => ['NIC', nicText(nic)]),
    ...gpus.map((gpu): [string, string] => ['GPU', gpuText(gpu)]),
  ];
  return lines.filter(([, text]) => text !== '');
}

function words(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join(', ');
}

function named(name: string, value: string | number | undefined): string | undefined {
  return value === undefined ? undefined : `${name} ${value}`;
}

function sized(bytes: number | undefined): string | undefined {
  return bytes === undefined ? undefined : bytesText(bytes);
}

function counts({ sockets, cores, threads }: NonNullable<HardwareInventory['cpu']>): string {
  const count = (number: number | undefined, noun: string) =>
    number === undefined ? undefined : `${number} ${noun}${number === 1 ? '' : 's'}`;
  return words(count(sockets, 'socket'), count(cores, 'core'), count(threads, 'thread'));
}

function moduleText(module: MemoryModule): string {
  const speed = module.speed_mts === undefined ? undefined : `${module.speed_mts} MT/s`;
  return words(
    module.slot,
    sized(module.size_bytes),
    speed,
    module.manufacturer,
    module.part_number,
    named('serial', module.serial_number),
  );
}

function diskText(disk: DiskFacts): string {
  const media = disk.rotational === undefined ? undefined : disk.rotational ? 'rotating' : 'solid state';
  return words(
    disk.name,
    sized(disk.size_bytes),
    disk.model,
    named('serial', disk.serial_number),
    disk.transport,
    media,
    disk.removable ? 'removable' : undefined,
  );
}

function nicText(nic: NicFacts): string {
  const link = nic.link === undefined ? undefined : nic.link ? 'link' : 'no link';
  const speed = nic.speed_mbps === undefined ? undefined : `${nic.speed_mbps} Mb/s`;
  return words(nic.name, nic.mac_address, link, speed, nic.driver, nic.pci_address);
}

function gpuText({ vendor_id: vendor = '', device_id: device = '', pci_address: address }: GpuFacts): string {
  return words(`${GPU_VENDORS[vendor] ?? vendor} ${vendor}:${device}`.trim(), address);
}
