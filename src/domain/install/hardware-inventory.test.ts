import { describe, expect, it } from 'vitest';
import { type HardwareInventory, hardwareChanges } from './hardware-inventory.ts';
import { hardwareLines } from './hardware-text.ts';

const GIB = 1024 ** 3;
const before: HardwareInventory = {
  system: { vendor: 'Example', model: 'X1', serial_number: 'S1', bios_version: '1.0' },
  cpu: { model: 'Fast', sockets: 2, cores: 64, threads: 128, architecture: 'x86_64' },
  memory: {
    total_bytes: 31.2 * GIB,
    modules: [
      { slot: 'A1', size_bytes: 16 * GIB, serial_number: 'M1' },
      { slot: 'A2', size_bytes: 16 * GIB, serial_number: 'M2' },
    ],
  },
  disks: [
    { name: 'sda', serial_number: 'D1', size_bytes: 480 * GIB, transport: 'sata', rotational: false },
    { name: 'sdb', serial_number: 'D2', size_bytes: 480 * GIB },
  ],
  nics: [{ name: 'eth0', mac_address: '52:54:00:00:00:01', speed_mbps: 10_000, link: true }],
  gpus: [{ pci_address: '0000:01:00.0', vendor_id: '10de', device_id: '2330' }],
};

describe('changes of hardware', () => {
  it('are none when disks change places, a link is down and a kernel keeps more memory', () => {
    const again = {
      ...before,
      memory: { ...before.memory, total_bytes: 30.9 * GIB },
      disks: [
        { ...before.disks?.[1], name: 'sda' },
        { ...before.disks?.[0], name: 'sdb' },
      ],
      nics: [{ name: 'enp1s0', mac_address: '52:54:00:00:00:01', link: false }],
    };
    expect(hardwareChanges(before, again)).toEqual([]);
  });

  it('are described in words', () => {
    const after: HardwareInventory = {
      ...before,
      system: { ...before.system, bios_version: '1.1' },
      memory: { modules: [{ slot: 'A1', size_bytes: 16 * GIB, serial_number: 'M9' }] },
      disks: [{ name: 'sda', serial_number: 'D3', size_bytes: 960 * GIB }],
      gpus: [],
    };
    expect(hardwareChanges(before, after)).toEqual([
      'system: bios_version was 1.0, is 1.1',
      'disk D1 is missing',
      'disk D2 is missing',
      'disk D3 is new',
      'GPU 0000:01:00.0 is missing',
      'memory module A2 is missing',
      'memory module A1: serial_number was M1, is M9',
    ]);
  });

  it('are seen in disks that nothing distinguishes', () => {
    const disks = [{ size_bytes: 1 }, { size_bytes: 1 }];
    expect(hardwareChanges({ disks }, { disks: disks.slice(1) })).toEqual(['disk unnamed (2) is missing']);
  });

  it('are seen in the size of the memory where no modules are known', () => {
    expect(
      hardwareChanges({ memory: { total_bytes: 8 * GIB } }, { memory: { total_bytes: 4 * GIB } }),
    ).toEqual(['memory: mebibytes was 8192, is 4096']);
  });
});

it('an inventory is one line a part', () => {
  expect(hardwareLines(before).map(([label, text]) => `${label}: ${text}`)).toEqual([
    'system: Example, X1, serial S1',
    'BIOS: 1.0',
    'CPU: Fast, 2 sockets, 64 cores, 128 threads, x86_64',
    'memory: 31.2 GiB',
    'module: A1, 16 GiB, serial M1',
    'module: A2, 16 GiB, serial M2',
    'disk: sda, 480 GiB, serial D1, sata, solid state',
    'disk: sdb, 480 GiB, serial D2',
    'NIC: eth0, 52:54:00:00:00:01, link, 10000 Mb/s',
    'GPU: NVIDIA 10de:2330, 0000:01:00.0',
  ]);
  expect(hardwareLines({})).toEqual([]);
});
