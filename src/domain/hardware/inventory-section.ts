/** The parts that a machine has several of, as people count them. */
import type { HardwareInventory } from '../install/hardware-inventory.ts';

interface Section {
  readonly one: string;
  readonly many: string;
  readonly of: (inventory: HardwareInventory) => readonly object[] | undefined;
}

export const INVENTORY_SECTIONS: readonly Section[] = [
  { one: 'processor', many: 'processors', of: ({ processors }) => processors },
  { one: 'memory module', many: 'memory modules', of: ({ memory }) => memory?.modules },
  { one: 'drive', many: 'drives', of: ({ disks }) => disks },
  { one: 'network port', many: 'network ports', of: ({ nics }) => nics },
  { one: 'GPU', many: 'GPUs', of: ({ gpus }) => gpus },
  { one: 'other PCIe device', many: 'other PCIe devices', of: (inventory) => inventory.pcie_devices },
  { one: 'power supply', many: 'power supplies', of: (inventory) => inventory.power_supplies },
  { one: 'firmware', many: 'firmwares', of: ({ firmware }) => firmware },
];
