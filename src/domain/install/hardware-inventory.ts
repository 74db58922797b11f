/**
 * The hardware of a machine as a source reports it. Any part may be missing. Each inventory is stored with its source
 * and time.
 */

export interface SystemFacts {
  readonly vendor?: string;
  readonly model?: string;
  readonly sku?: string;
  readonly serial_number?: string;
  readonly uuid?: string;
  readonly board_model?: string;
  readonly board_serial_number?: string;
  readonly bios_vendor?: string;
  readonly bios_version?: string;
  readonly bios_date?: string;
}

export interface CpuFacts {
  readonly model?: string;
  readonly architecture?: string;
  readonly sockets?: number;
  readonly cores?: number;
  readonly threads?: number;
}

/** One socket. */
export interface ProcessorFacts {
  readonly slot?: string;
  readonly model?: string;
  readonly manufacturer?: string;
  readonly architecture?: string;
  readonly cores?: number;
  readonly threads?: number;
  readonly serial_number?: string;
  readonly microcode?: string;
  readonly health?: string;
}

export interface MemoryModule {
  readonly slot?: string;
  readonly size_bytes?: number;
  readonly type?: string;
  readonly speed_mts?: number;
  readonly manufacturer?: string;
  readonly serial_number?: string;
  readonly part_number?: string;
  readonly health?: string;
}

export interface DiskFacts {
  readonly name?: string;
  readonly model?: string;
  readonly serial_number?: string;
  readonly size_bytes?: number;
  readonly transport?: string;
  readonly rotational?: boolean;
  readonly removable?: boolean;
  readonly slot?: string;
  readonly manufacturer?: string;
  readonly part_number?: string;
  readonly firmware_version?: string;
  /** How much of its life is left, in percent. */
  readonly life_left_percent?: number;
  readonly health?: string;
}

export interface NicFacts {
  readonly name?: string;
  readonly mac_address?: string;
  readonly speed_mbps?: number;
  readonly link?: boolean;
  readonly driver?: string;
  readonly pci_address?: string;
  readonly slot?: string;
  readonly manufacturer?: string;
  readonly model?: string;
  readonly serial_number?: string;
  readonly part_number?: string;
  readonly firmware_version?: string;
  /** The switch and its port, as LLDP names them. */
  readonly neighbour?: string;
  readonly neighbour_port?: string;
  readonly health?: string;
}

export interface GpuFacts {
  readonly pci_address?: string;
  readonly vendor_id?: string;
  readonly device_id?: string;
  readonly slot?: string;
  readonly manufacturer?: string;
  readonly model?: string;
  readonly serial_number?: string;
  readonly part_number?: string;
  readonly firmware_version?: string;
  readonly memory_bytes?: number;
  readonly health?: string;
}

/** What is in PCIe slots besides GPUs and network cards, and what is soldered on. */
export interface PcieFacts {
  readonly slot?: string;
  readonly model?: string;
  readonly manufacturer?: string;
  readonly device_class?: string;
  readonly serial_number?: string;
  readonly part_number?: string;
  readonly firmware_version?: string;
  readonly health?: string;
}

export interface PowerSupplyFacts {
  readonly slot?: string;
  readonly model?: string;
  readonly manufacturer?: string;
  readonly serial_number?: string;
  readonly part_number?: string;
  readonly firmware_version?: string;
  readonly capacity_watts?: number;
  readonly health?: string;
}

export interface FirmwareFacts {
  readonly component?: string;
  /** The name that the source gives it. */
  readonly name?: string;
  readonly version?: string;
}

/** A slot that a source knows and that nothing is in. */
export interface EmptySlot {
  /** processor, memory, drive, pcie or power_supply. */
  readonly kind?: string;
  readonly slot?: string;
}

export interface HardwareInventory {
  readonly system?: SystemFacts;
  readonly cpu?: CpuFacts;
  readonly processors?: readonly ProcessorFacts[];
  readonly memory?: { readonly total_bytes?: number; readonly modules?: readonly MemoryModule[] };
  readonly disks?: readonly DiskFacts[];
  readonly nics?: readonly NicFacts[];
  readonly gpus?: readonly GpuFacts[];
  readonly pcie_devices?: readonly PcieFacts[];
  readonly power_supplies?: readonly PowerSupplyFacts[];
  readonly firmware?: readonly FirmwareFacts[];
  /** They make no version: what was taken out of them is missing already. */
  readonly empty_slots?: readonly EmptySlot[];
}

/** What reports hardware, the most trusted first: a BMC also sees what no operating system has a driver for. */
export const INVENTORY_SOURCES = {
  bmc: 'its BMC',
  installer: 'the installer that it booted',
  agent: 'its agent',
} as const satisfies Record<string, string>;

export type InventorySource = keyof typeof INVENTORY_SOURCES;
export const INVENTORY_SOURCE_NAMES = Object.keys(INVENTORY_SOURCES) as InventorySource[];

export interface KeptInventory {
  readonly source: InventorySource;
  /** Grows with each change of what the source reports. */
  readonly version: number;
  readonly inventory: HardwareInventory;
  readonly reportedAt: Date;
  /** The time of the last change. */
  readonly changedAt: Date;
}

/** One version of what a source reports. */
export interface HardwareVersion {
  readonly machineId: string;
  readonly source: InventorySource;
  readonly version: number;
  readonly foundAt: Date;
  /** As "kind:id"; empty where it was not kept. */
  readonly foundBy: string;
  readonly operationId: string | null;
  /** How it differs from the version before, as sentences; empty for the first. */
  readonly changes: readonly string[];
}

type Part = Readonly<Record<string, unknown>>;

/** Parts that a machine has several of: their name, and the field that identifies one. */
const SEVERAL = {
  disk: { of: (inventory: HardwareInventory) => inventory.disks, keys: ['slot', 'serial_number', 'name'] },
  NIC: { of: (inventory: HardwareInventory) => inventory.nics, keys: ['mac_address', 'name'] },
  GPU: {
    of: (inventory: HardwareInventory) => inventory.gpus,
    keys: ['pci_address', 'slot', 'serial_number'],
  },
  'memory module': {
    of: (inventory: HardwareInventory) => inventory.memory?.modules,
    keys: ['slot', 'serial_number'],
  },
  processor: { of: (inventory: HardwareInventory) => inventory.processors, keys: ['slot'] },
  'PCIe device': {
    of: (inventory: HardwareInventory) => inventory.pcie_devices,
    keys: ['slot', 'serial_number'],
  },
  'power supply': {
    of: (inventory: HardwareInventory) => inventory.power_supplies,
    keys: ['slot', 'serial_number'],
  },
  firmware: { of: (inventory: HardwareInventory) => inventory.firmware, keys: ['component'] },
} as const satisfies Record<
  string,
  {
    of: (inventory: HardwareInventory) => readonly object[] | undefined;
    keys: readonly string[];
  }
>;

/** Fields that differ between boots of the same hardware. */
const FLEETING = new Set(['speed_mbps', 'link', 'name', 'life_left_percent']);
const MEMORY_STEP = 256 * 1024 * 1024;

/** What changed, as sentences; empty when the hardware is the same. */
export function hardwareChanges(before: HardwareInventory, after: HardwareInventory): string[] {
  return [
    ...fieldChanges('system', before.system ?? {}, after.system ?? {}),
    ...fieldChanges('CPU', before.cpu ?? {}, after.cpu ?? {}),
    ...fieldChanges('memory', memorySize(before), memorySize(after)),
    ...Object.entries(SEVERAL).flatMap(([noun, { of, keys }]) => {
      const found = of(after);
      // A source that says nothing of these parts does not say that they are gone.
      return found === undefined ? [] : partChanges(noun, keys, of(before) ?? [], found);
    }),
  ];
}

/** Kernels reserve some memory, different ones different amounts. The modules are more exact where they are known. */
function memorySize({ memory }: HardwareInventory): Part {
  if (memory?.total_bytes === undefined || (memory.modules ?? []).length > 0) return {};
  return { mebibytes: (Math.round(memory.total_bytes / MEMORY_STEP) * MEMORY_STEP) / 1024 / 1024 };
}

function fieldChanges(noun: string, before: object, after: object): string[] {
  const [old, found] = [before as Part, after as Part];
  return [...new Set([...Object.keys(old), ...Object.keys(found)])]
    .filter((name) => !FLEETING.has(name) && old[name] !== found[name])
    .sort()
    .map((name) => `${noun}: ${name} was ${said(old[name])}, is ${said(found[name])}`);
}

function said(value: unknown): string {
  return value === undefined ? 'not reported' : String(value);
}

function partChanges(
  noun: string,
  keys: readonly string[],
  before: readonly object[],
  after: readonly object[],
): string[] {
  const [old, found] = [byKey(keys, before), byKey(keys, after)];
  return [
    ...[...old.keys()].filter((key) => !found.has(key)).map((key) => `${noun} ${key} is missing`),
    ...[...found.keys()].filter((key) => !old.has(key)).map((key) => `${noun} ${key} is new`),
    ...[...found].flatMap(([key, part]) => {
      const earlier = old.get(key);
      return earlier === undefined ? [] : fieldChanges(`${noun} ${key}`, earlier, part);
    }),
  ];
}

/** Parts without anything that identifies them are numbered. */
function byKey(keys: readonly string[], parts: readonly object[]): Map<string, object> {
  const found = new Map<string, object>();
  for (const part of parts) {
    const name = keys.map((key) => (part as Part)[key]).find((value) => value !== undefined);
    let key = String(name ?? 'unnamed');
    for (let count = 2; found.has(key); count += 1) key = `${String(name ?? 'unnamed')} (${count})`;
    found.set(key, part);
  }
  return found;
}
