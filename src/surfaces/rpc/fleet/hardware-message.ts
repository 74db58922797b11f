/** A machine's hardware as the API shows it. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Agent } from '../../../domain/agent/agent.ts';
import type { HardwareVerdict } from '../../../domain/hardware/hardware-profile.ts';
import {
  type MergedHardware,
  mergeHardware,
  type ReportedHardware,
} from '../../../domain/hardware/merge-hardware.ts';
import type { DiskFacts, KeptInventory } from '../../../domain/install/hardware-inventory.ts';
import type { HardwareSchema } from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';

/** What an agent said when it registered; null: it has not. */
export function agentHardware(agent: Agent | null): ReportedHardware | null {
  const { facts = null, registeredAt = null } = agent ?? {};
  if (facts === null || registeredAt === null) return null;
  const gpus = facts.gpus.flatMap(({ model, count }) => Array.from({ length: count }, () => ({ model })));
  return {
    source: 'agent',
    reportedAt: registeredAt,
    inventory: {
      memory: { total_bytes: facts.memoryBytes },
      cpu: { threads: Math.round(facts.cpuMillicores / 1000) },
      gpus,
    },
  };
}

export function hardwareMessage(
  machineId: string,
  kept: readonly KeptInventory[],
  agent: ReportedHardware | null,
): MessageInitShape<typeof HardwareSchema> {
  const hardware = mergeHardware([...kept, ...(agent === null ? [] : [agent])]);
  const { system, cpu, memoryBytes } = hardware;
  return {
    machineId,
    ...(system === null ? {} : { system: systemMessage(system) }),
    ...partMessages(hardware),
    memoryBytes: BigInt(memoryBytes ?? 0),
    cpuModel: cpu?.model ?? '',
    cpuCores: cpu?.cores ?? 0,
    sources: [
      ...kept.map(({ source, version, reportedAt, changedAt }) => ({
        source,
        version,
        reportedAt: timestampFromDate(reportedAt),
        changedAt: timestampFromDate(changedAt),
      })),
      ...(agent === null ? [] : [{ source: agent.source, reportedAt: timestampFromDate(agent.reportedAt) }]),
    ],
  };
}

export function verdictFields({ profiles, differences }: HardwareVerdict) {
  return { profiles: [...profiles], differences: [...differences] };
}

function originOf({ source, reportedAt }: Pick<ReportedHardware, 'source' | 'reportedAt'>) {
  return { source, reportedAt: timestampFromDate(reportedAt) };
}

function systemMessage(system: NonNullable<MergedHardware['system']>) {
  return {
    origin: originOf(system),
    vendor: system.vendor ?? '',
    model: system.model ?? '',
    sku: system.sku ?? '',
    serialNumber: system.serial_number ?? '',
    uuid: system.uuid ?? '',
    biosVersion: system.bios_version ?? '',
    biosVendor: system.bios_vendor ?? '',
    biosDate: system.bios_date ?? '',
    boardModel: system.board_model ?? '',
    boardSerialNumber: system.board_serial_number ?? '',
  };
}

interface Replaceable {
  readonly slot?: string;
  readonly model?: string;
  readonly manufacturer?: string;
  readonly serial_number?: string;
  readonly part_number?: string;
  readonly firmware_version?: string;
  readonly health?: string;
}

function replaceable(part: Replaceable & Pick<ReportedHardware, 'source' | 'reportedAt'>) {
  return {
    origin: originOf(part),
    slot: part.slot ?? '',
    model: part.model ?? '',
    manufacturer: part.manufacturer ?? '',
    serialNumber: part.serial_number ?? '',
    partNumber: part.part_number ?? '',
    firmwareVersion: part.firmware_version ?? '',
    health: part.health ?? '',
  };
}

function partMessages(hardware: MergedHardware) {
  return {
    processors: hardware.processors.map((part) => ({
      origin: originOf(part),
      slot: part.slot ?? '',
      model: part.model ?? '',
      manufacturer: part.manufacturer ?? '',
      serialNumber: part.serial_number ?? '',
      health: part.health ?? '',
      architecture: part.architecture ?? '',
      cores: part.cores ?? 0,
      threads: part.threads ?? 0,
      microcode: part.microcode ?? '',
    })),
    memoryModules: hardware.memory_modules.map((part) => ({
      origin: originOf(part),
      slot: part.slot ?? '',
      sizeBytes: BigInt(part.size_bytes ?? 0),
      type: part.type ?? '',
      speedMts: part.speed_mts ?? 0,
      manufacturer: part.manufacturer ?? '',
      serialNumber: part.serial_number ?? '',
      partNumber: part.part_number ?? '',
      health: part.health ?? '',
    })),
    drives: hardware.disks.map((part) => ({ ...replaceable(part), ...driveFields(part) })),
    nics: hardware.nics.map((part) => ({
      ...replaceable(part),
      name: part.name ?? '',
      macAddress: part.mac_address ?? '',
      speedMbps: BigInt(part.speed_mbps ?? 0),
      ...(part.link === undefined ? {} : { link: part.link }),
      neighbour: part.neighbour ?? '',
      neighbourPort: part.neighbour_port ?? '',
    })),
    gpus: hardware.gpus.map((part) => ({
      ...replaceable(part),
      memoryBytes: BigInt(part.memory_bytes ?? 0),
      pciAddress: part.pci_address ?? '',
      vendorId: part.vendor_id ?? '',
      deviceId: part.device_id ?? '',
    })),
    pcieDevices: hardware.pcie_devices.map((part) => ({
      ...replaceable(part),
      deviceClass: part.device_class ?? '',
    })),
    powerSupplies: hardware.power_supplies.map((part) => ({
      ...replaceable(part),
      capacityWatts: part.capacity_watts ?? 0,
    })),
    emptySlots: hardware.empty_slots.map((part) => ({
      origin: originOf(part),
      kind: part.kind ?? '',
      slot: part.slot ?? '',
    })),
    firmware: hardware.firmware.map((part) => ({
      origin: originOf(part),
      component: part.component ?? '',
      name: part.name ?? '',
      version: part.version ?? '',
    })),
  };
}

function driveFields(part: DiskFacts) {
  return {
    name: part.name ?? '',
    sizeBytes: BigInt(part.size_bytes ?? 0),
    protocol: part.transport ?? '',
    media: part.rotational === undefined ? '' : part.rotational ? 'HDD' : 'SSD',
    ...(part.life_left_percent === undefined ? {} : { lifeLeftPercent: part.life_left_percent }),
  };
}
