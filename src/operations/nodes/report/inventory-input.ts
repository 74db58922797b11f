/** Reads the hardware inventory that a machine reports: each part by itself; what cannot be read is noted. */
import type { HardwareInventory } from '../../../domain/install/hardware-inventory.ts';
import { normalMac } from '../../../domain/install/node.ts';
import {
  asText,
  type LenientReader,
  lenientCount,
  lenientLine,
  lenientList,
  lenientObject,
  quoted,
} from '../../lenient.ts';

const text = lenientLine(128);
const size = lenientCount(0, Number.MAX_SAFE_INTEGER);
const count = lenientCount(0, 1_000_000);

const flag: LenientReader<boolean> = (value, field, note) => {
  if (typeof value === 'boolean' || value === undefined || value === null) return value ?? undefined;
  note(field, 'dropped: it is neither true nor false');
  return undefined;
};

const mac: LenientReader<string> = (value, field, note) => {
  const given = asText(value, field, note)?.trim();
  if (given === undefined || given === '') return undefined;
  const normal = normalMac(given);
  if (normal === null) note(field, `dropped: ${quoted(given)} is no address of a network card`);
  return normal ?? undefined;
};

/** Four hexadecimal digits, with or without 0x. */
const pciId: LenientReader<string> = (value, field, note) => {
  const given = asText(value, field, note)?.trim().toLowerCase().replace(/^0x/, '');
  if (given === undefined || /^[0-9a-f]{4}$/.test(given)) return given;
  note(field, `dropped: ${quoted(given)} is no PCI id`);
  return undefined;
};

/** What every part that can be taken out may say of itself. */
const fieldReplaceable = {
  slot: text,
  model: text,
  manufacturer: text,
  serial_number: text,
  part_number: text,
  firmware_version: text,
  health: text,
};

const reader = lenientObject({
  system: lenientObject({
    vendor: text,
    model: text,
    sku: text,
    serial_number: text,
    uuid: text,
    board_model: text,
    board_serial_number: text,
    bios_vendor: text,
    bios_version: text,
    bios_date: text,
  }),
  cpu: lenientObject({ model: text, architecture: text, sockets: count, cores: count, threads: count }),
  processors: lenientList(
    lenientObject({
      slot: text,
      model: text,
      manufacturer: text,
      architecture: text,
      cores: count,
      threads: count,
      serial_number: text,
      microcode: text,
      health: text,
    }),
    64,
  ),
  memory: lenientObject({
    total_bytes: size,
    modules: lenientList(
      lenientObject({
        slot: text,
        size_bytes: size,
        type: text,
        speed_mts: count,
        manufacturer: text,
        serial_number: text,
        part_number: text,
        health: text,
      }),
      256,
    ),
  }),
  disks: lenientList(
    lenientObject({
      name: text,
      size_bytes: size,
      transport: text,
      rotational: flag,
      removable: flag,
      life_left_percent: lenientCount(0, 100),
      ...fieldReplaceable,
    }),
    256,
  ),
  nics: lenientList(
    lenientObject({
      name: text,
      mac_address: mac,
      speed_mbps: lenientCount(0, 100_000_000),
      link: flag,
      driver: text,
      pci_address: text,
      neighbour: text,
      neighbour_port: text,
      ...fieldReplaceable,
    }),
    128,
  ),
  gpus: lenientList(
    lenientObject({
      pci_address: text,
      vendor_id: pciId,
      device_id: pciId,
      memory_bytes: size,
      ...fieldReplaceable,
    }),
    64,
  ),
  pcie_devices: lenientList(lenientObject({ device_class: text, ...fieldReplaceable }), 256),
  power_supplies: lenientList(lenientObject({ capacity_watts: count, ...fieldReplaceable }), 64),
  empty_slots: lenientList(lenientObject({ kind: text, slot: text }), 256),
  firmware: lenientList(lenientObject({ component: text, name: text, version: text }), 512),
});

/** A part without any readable field is dropped. */
export const readInventory: LenientReader<HardwareInventory> = (value, field, note) => {
  const inventory: HardwareInventory | undefined = reader(value, field, note);
  return inventory === undefined || Object.keys(inventory).length === 0 ? undefined : inventory;
};
