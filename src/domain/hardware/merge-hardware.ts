/**
 * One view of a machine's hardware from what its sources report. The parts of a section are those of the most trusted source
 * that reports the section. What that source leaves out of a part comes from another source's part of the same identity: a BMC
 * does not know what the kernel calls a disk, and an installer does not know its slot.
 */
import {
  type HardwareInventory,
  INVENTORY_SOURCE_NAMES,
  type InventorySource,
} from '../install/hardware-inventory.ts';

export interface ReportedHardware {
  readonly source: InventorySource;
  readonly inventory: HardwareInventory;
  readonly reportedAt: Date;
}

/** A part, with what reported it and when. */
export type Sourced<Part> = Part & { readonly source: InventorySource; readonly reportedAt: Date };

type Sections = {
  readonly processors: HardwareInventory['processors'];
  readonly memory_modules: NonNullable<HardwareInventory['memory']>['modules'];
  readonly disks: HardwareInventory['disks'];
  readonly nics: HardwareInventory['nics'];
  readonly gpus: HardwareInventory['gpus'];
  readonly pcie_devices: HardwareInventory['pcie_devices'];
  readonly power_supplies: HardwareInventory['power_supplies'];
  readonly firmware: HardwareInventory['firmware'];
  readonly empty_slots: HardwareInventory['empty_slots'];
};

type PartOf<Name extends keyof Sections> = NonNullable<Sections[Name]>[number];

/** Where a section is, and the field that says that two sources report the same part; null: nothing does. */
const SECTIONS = {
  processors: { of: (inventory) => inventory.processors, identity: 'slot' },
  memory_modules: { of: (inventory) => inventory.memory?.modules, identity: 'serial_number' },
  disks: { of: (inventory) => inventory.disks, identity: 'serial_number' },
  nics: { of: (inventory) => inventory.nics, identity: 'mac_address' },
  gpus: { of: (inventory) => inventory.gpus, identity: 'serial_number' },
  pcie_devices: { of: (inventory) => inventory.pcie_devices, identity: null },
  power_supplies: { of: (inventory) => inventory.power_supplies, identity: null },
  firmware: { of: (inventory) => inventory.firmware, identity: null },
  empty_slots: { of: (inventory) => inventory.empty_slots, identity: null },
} as const satisfies {
  [Name in keyof Sections]: {
    readonly of: (inventory: HardwareInventory) => Sections[Name];
    readonly identity: keyof PartOf<Name> | null;
  };
};

export type MergedHardware = {
  readonly [Name in keyof Sections]: readonly Sourced<PartOf<Name>>[];
} & {
  readonly system: Sourced<NonNullable<HardwareInventory['system']>> | null;
  readonly cpu: Sourced<NonNullable<HardwareInventory['cpu']>> | null;
  /** Whether a source says which GPUs it has, or that it has none. */
  readonly gpusKnown: boolean;
  /** What the machine has in all; null: no source says it. */
  readonly memoryBytes: number | null;
};

export function mergeHardware(reports: readonly ReportedHardware[]): MergedHardware {
  const byTrust = [...reports].sort(
    (left, right) =>
      INVENTORY_SOURCE_NAMES.indexOf(left.source) - INVENTORY_SOURCE_NAMES.indexOf(right.source),
  );
  const names = Object.keys(SECTIONS) as (keyof Sections)[];
  const sections = Object.fromEntries(names.map((name) => [name, mergeSection(name, byTrust)]));
  return {
    ...(sections as { [Name in keyof Sections]: Sourced<PartOf<Name>>[] }),
    system: mergeOnly(byTrust, ({ system }) => system),
    cpu: mergeOnly(byTrust, ({ cpu }) => cpu),
    gpusKnown: byTrust.some(({ inventory }) => inventory.gpus !== undefined),
    memoryBytes: memoryOf(byTrust),
  };
}

function mergeSection(name: keyof Sections, byTrust: readonly ReportedHardware[]): object[] {
  const { of, identity } = SECTIONS[name];
  const [first, ...others] = byTrust.filter(({ inventory }) => (of(inventory)?.length ?? 0) > 0);
  if (!first) return [];
  const parts = [...(of(first.inventory) ?? [])].sort(bySlot);
  return parts.map((part) => {
    const id = identity === null ? undefined : fieldOf(part, identity);
    const same =
      id === undefined || identity === null
        ? []
        : others.flatMap(({ inventory }) =>
            (of(inventory) ?? []).filter((other) => fieldOf(other, identity) === id),
          );
    return { ...filled(part, same), source: first.source, reportedAt: first.reportedAt };
  });
}

/** In the order of the slots, whatever order a source reports them in. */
function bySlot(left: object, right: object): number {
  return SLOTS.compare(String(fieldOf(left, 'slot') ?? ''), String(fieldOf(right, 'slot') ?? ''));
}

const SLOTS = new Intl.Collator('en', { numeric: true });

function mergeOnly<Part extends object>(
  byTrust: readonly ReportedHardware[],
  of: (inventory: HardwareInventory) => Part | undefined,
): Sourced<Part> | null {
  const [first, ...others] = byTrust.flatMap(({ inventory, source, reportedAt }) => {
    const part = of(inventory);
    return part === undefined ? [] : [{ part, source, reportedAt }];
  });
  if (!first) return null;
  const part = filled(
    first.part,
    others.map((other) => other.part),
  );
  return { ...part, source: first.source, reportedAt: first.reportedAt };
}

/** The part, with the fields that only the others have. */
function filled<Part extends object>(part: Part, others: readonly object[]): Part {
  return Object.assign({}, ...[...others].reverse(), part) as Part;
}

function fieldOf(part: object, name: string): unknown {
  return (part as Readonly<Record<string, unknown>>)[name];
}

/** The modules count before what a kernel sees of them. */
function memoryOf(byTrust: readonly ReportedHardware[]): number | null {
  for (const { inventory } of byTrust) {
    const sizes = (inventory.memory?.modules ?? []).map(({ size_bytes: size }) => size ?? 0);
    const sum = sizes.reduce((total, size) => total + size, 0);
    if (sum > 0) return sum;
    if (inventory.memory?.total_bytes !== undefined) return inventory.memory.total_bytes;
  }
  return null;
}
