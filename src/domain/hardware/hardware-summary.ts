/**
 * The few facts of a machine's hardware that lists are filtered, counted and sorted by. They are kept with the machine's row,
 * under these very names (src/store/machines/hardware-columns.ts).
 */
import type { GpuFacts } from '../install/hardware-inventory.ts';
import type { MergedHardware } from './merge-hardware.ts';

/** A text is absent where it is not known, and so is a number. */
export interface HardwareSummary {
  readonly vendor?: string;
  readonly model?: string;
  readonly sku?: string;
  readonly serial_number?: string;
  readonly bios_version?: string;
  readonly cpu_model?: string;
  readonly cpu_sockets?: number;
  readonly cpu_cores?: number;
  readonly memory_gib?: number;
  readonly memory_modules?: number;
  readonly gpu_model?: string;
  readonly gpu_count?: number;
  readonly drive_count?: number;
  readonly drive_gib?: number;
  readonly nic_count?: number;
  readonly unhealthy_parts?: number;
}

type Kind = 'text' | 'number';

interface SummaryField {
  readonly kind: Kind;
  /** Of a column. */
  readonly title: string;
  /** As filters, facets and columns name it. */
  readonly filter: `hardware.${string}`;
  readonly meaning: string;
}

/** Every field, in the order in which people see them. */
export const HARDWARE_FIELDS = {
  vendor: { kind: 'text', title: 'Vendor', filter: 'hardware.vendor', meaning: 'who made the machine' },
  model: { kind: 'text', title: 'Model', filter: 'hardware.model', meaning: 'its model' },
  sku: { kind: 'text', title: 'SKU', filter: 'hardware.sku', meaning: 'its SKU' },
  serial_number: {
    kind: 'text',
    title: 'Serial number',
    filter: 'hardware.serial_number',
    meaning: 'its serial number',
  },
  bios_version: {
    kind: 'text',
    title: 'BIOS',
    filter: 'hardware.bios_version',
    meaning: 'the version of its BIOS',
  },
  cpu_model: {
    kind: 'text',
    title: 'CPU',
    filter: 'hardware.cpu.model',
    meaning: 'the model of its processors',
  },
  cpu_sockets: {
    kind: 'number',
    title: 'Sockets',
    filter: 'hardware.cpu.sockets',
    meaning: 'how many processors it has',
  },
  cpu_cores: {
    kind: 'number',
    title: 'Cores',
    filter: 'hardware.cpu.cores',
    meaning: 'cores of all its processors',
  },
  memory_gib: {
    kind: 'number',
    title: 'Memory GiB',
    filter: 'hardware.memory_gib',
    meaning: 'its memory in GiB',
  },
  memory_modules: {
    kind: 'number',
    title: 'DIMMs',
    filter: 'hardware.memory_modules',
    meaning: 'how many memory modules it has',
  },
  gpu_model: { kind: 'text', title: 'GPU', filter: 'hardware.gpu.model', meaning: 'the models of its GPUs' },
  gpu_count: { kind: 'number', title: 'GPUs', filter: 'hardware.gpu.count', meaning: 'how many GPUs it has' },
  drive_count: {
    kind: 'number',
    title: 'Drives',
    filter: 'hardware.drive.count',
    meaning: 'how many drives it has',
  },
  drive_gib: {
    kind: 'number',
    title: 'Drives GiB',
    filter: 'hardware.drive_gib',
    meaning: 'the size of all its drives in GiB',
  },
  nic_count: {
    kind: 'number',
    title: 'Ports',
    filter: 'hardware.nic.count',
    meaning: 'how many network ports it has',
  },
  unhealthy_parts: {
    kind: 'number',
    title: 'Unhealthy',
    filter: 'hardware.unhealthy',
    meaning: 'parts whose health is not OK',
  },
} as const satisfies Record<keyof HardwareSummary, SummaryField>;

export type HardwareField = keyof typeof HARDWARE_FIELDS;
export const HARDWARE_FIELD_NAMES = Object.keys(HARDWARE_FIELDS) as HardwareField[];
export type HardwareFilterName = (typeof HARDWARE_FIELDS)[HardwareField]['filter'];

const GIB = 2 ** 30;
/** Graphics of a BMC or of a virtual machine, which nothing is computed on. */
const CONSOLE_GRAPHICS = ['102b', '1a03', '1234', '1af4'];

export function hardwareSummary(hardware: MergedHardware): HardwareSummary {
  const { system, cpu, processors, memory_modules: modules, disks, nics, memoryBytes } = hardware;
  const gpus = hardware.gpus.filter(({ vendor_id: id = '' }) => !CONSOLE_GRAPHICS.includes(id));
  const cores = processors.reduce((sum, processor) => sum + (processor.cores ?? 0), 0);
  const bytes = disks.reduce((sum, { size_bytes: size }) => sum + (size ?? 0), 0);
  return present({
    vendor: system?.vendor,
    model: system?.model,
    sku: system?.sku,
    serial_number: system?.serial_number,
    bios_version: system?.bios_version,
    cpu_model: namesOf(processors.map(({ model }) => model)) ?? cpu?.model,
    cpu_sockets: processors.length > 0 ? processors.length : cpu?.sockets,
    cpu_cores: cores > 0 ? cores : cpu?.cores,
    memory_gib: memoryBytes === null ? undefined : Math.round(memoryBytes / GIB),
    memory_modules: modules.length > 0 ? modules.length : undefined,
    gpu_model: namesOf(gpus.map(gpuName)),
    gpu_count: hardware.gpusKnown ? gpus.length : undefined,
    drive_count: disks.length > 0 ? disks.length : undefined,
    drive_gib: bytes > 0 ? Math.round(bytes / GIB) : undefined,
    nic_count: nics.length > 0 ? nics.length : undefined,
    unhealthy_parts: unhealthyParts(hardware),
  });
}

/** Absent where no part says how it is. */
function unhealthyParts(hardware: MergedHardware): number | undefined {
  const {
    processors,
    memory_modules: modules,
    disks,
    nics,
    gpus,
    pcie_devices: pcie,
    power_supplies: power,
  } = hardware;
  const healths = [processors, modules, disks, nics, gpus, pcie, power].flatMap((parts) =>
    parts.flatMap(({ health }) => health ?? []),
  );
  return healths.length === 0 ? undefined : healths.filter((health) => health !== 'OK').length;
}

/** A GPU whose model is not reported goes by its PCI id. */
function gpuName({ model, vendor_id: vendor, device_id: device }: GpuFacts): string | undefined {
  return model ?? (vendor !== undefined && device !== undefined ? `${vendor}:${device}` : undefined);
}

/** Each name once, the most frequent first: "NVIDIA H100 PCIe, NVIDIA A2". */
function namesOf(names: readonly (string | undefined)[]): string | undefined {
  const counts = new Map<string, number>();
  for (const name of names) if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts].sort(
    ([left, some], [right, more]) => more - some || left.localeCompare(right, 'en'),
  );
  return sorted.length === 0 ? undefined : sorted.map(([name]) => name).join(', ');
}

function present(
  summary: { readonly [Name in HardwareField]: HardwareSummary[Name] | undefined },
): HardwareSummary {
  return Object.fromEntries(
    Object.entries(summary).filter(([, value]) => value !== undefined && value !== ''),
  );
}
