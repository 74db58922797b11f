/** The hardware of a simulated machine: the same each time it is read, and different for each machine. */
import { createHash } from 'node:crypto';
import type { HardwareInventory } from '../../domain/install/hardware-inventory.ts';
import type { Machine } from '../../domain/machine/machine.ts';

const GIB = 2 ** 30;

export function fakeHardware({ machineId, spec }: Machine, log: (text: string) => void): HardwareInventory {
  log('Reading the simulated hardware');
  const digest = createHash('sha256').update(machineId).digest('hex');
  const serial = (part: string) => `${part}${digest.slice(0, 8).toUpperCase()}`;
  const [mac] = spec.mac_addresses;
  const pairs = [0, 2, 4, 6].map((at) => digest.slice(at, at + 2));
  return {
    system: {
      vendor: 'Simulated',
      model: 'Fake 1U',
      sku: 'FAKE-1U',
      serial_number: spec.serial || serial('S'),
      bios_version: '1.0',
    },
    processors: [1, 2].map((socket) => ({
      slot: `CPU${socket}`,
      model: 'Simulated CPU',
      cores: 16,
      threads: 32,
      health: 'OK',
    })),
    memory: {
      total_bytes: 128 * GIB,
      modules: [1, 2, 3, 4].map((slot) => ({
        slot: `DIMM${slot}`,
        size_bytes: 32 * GIB,
        serial_number: serial(`M${slot}`),
        health: 'OK',
      })),
    },
    disks: [
      {
        slot: 'Bay 0',
        model: 'Simulated SSD',
        serial_number: serial('D'),
        size_bytes: 480e9,
        rotational: false,
      },
    ],
    nics: [{ slot: 'NIC1', mac_address: mac ?? `52:54:${pairs.join(':')}`, link: true, speed_mbps: 25_000 }],
    gpus: [],
    power_supplies: [1, 2].map((slot) => ({ slot: `PSU${slot}`, capacity_watts: 800, health: 'OK' })),
    firmware: [{ component: 'BIOS', name: 'BIOS', version: '1.0' }],
  };
}
