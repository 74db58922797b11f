import { describe, expect, it } from 'vitest';
import {
  type HardwareInventory,
  hardwareChanges,
  type InventorySource,
} from '../install/hardware-inventory.ts';
import { hardwareSummary } from './hardware-summary.ts';
import { mergeHardware } from './merge-hardware.ts';

const GIB = 2 ** 30;
const from = (source: InventorySource, inventory: HardwareInventory, day = 1) => ({
  source,
  inventory,
  reportedAt: new Date(Date.UTC(2026, 0, day)),
});

describe('hardware of several sources', () => {
  it('has the parts of the most trusted one, and what only others know of the same part', () => {
    const { disks } = mergeHardware([
      from('installer', { disks: [{ name: 'nvme0n1', serial_number: 'A', model: 'as the kernel says' }] }, 9),
      from('bmc', { disks: [{ slot: 'Bay.0', serial_number: 'A', model: 'NVMe' }, { slot: 'Bay.1' }] }),
    ]);
    expect(disks).toEqual([
      {
        slot: 'Bay.0',
        serial_number: 'A',
        model: 'NVMe',
        name: 'nvme0n1',
        source: 'bmc',
        reportedAt: new Date(Date.UTC(2026, 0, 1)),
      },
      { slot: 'Bay.1', source: 'bmc', reportedAt: new Date(Date.UTC(2026, 0, 1)) },
    ]);
  });

  it('takes a section from the next source where the first says nothing of it', () => {
    const { gpus, nics } = mergeHardware([
      from('bmc', { nics: [{ mac_address: '52:54:00:00:00:01' }], gpus: [] }),
      from('agent', { gpus: [{ model: 'H100' }, { model: 'H100' }] }),
    ]);
    expect(gpus.map(({ source }) => source)).toEqual(['agent', 'agent']);
    expect(nics[0]?.source).toBe('bmc');
  });

  it('lists parts in the order of their slots', () => {
    const modules = ['A10', 'A2', 'A1'].map((slot) => ({ slot }));
    const { memory_modules: sorted } = mergeHardware([from('bmc', { memory: { modules } })]);
    expect(sorted.map(({ slot }) => slot)).toEqual(['A1', 'A2', 'A10']);
  });
});

describe('the summary', () => {
  const summary = (inventory: HardwareInventory) => hardwareSummary(mergeHardware([from('bmc', inventory)]));

  it('adds up modules before it takes what a kernel sees', () => {
    const modules = [{ size_bytes: 32 * GIB }, { size_bytes: 32 * GIB }];
    expect(summary({ memory: { total_bytes: 60 * GIB, modules } })).toMatchObject({
      memory_gib: 64,
      memory_modules: 2,
    });
    expect(summary({ memory: { total_bytes: 60 * GIB } }).memory_gib).toBe(60);
  });

  it('names each model once, the most frequent first, and no graphics of a BMC', () => {
    const gpus = [
      { model: 'A2' },
      { model: 'H100' },
      { model: 'H100' },
      { vendor_id: '1a03', device_id: '2000' },
    ];
    expect(summary({ gpus })).toMatchObject({ gpu_model: 'H100, A2', gpu_count: 3 });
  });

  it('counts parts that are not OK, and says nothing where no part says how it is', () => {
    expect(summary({ disks: [{ health: 'OK' }, { health: 'Critical' }] }).unhealthy_parts).toBe(1);
    expect(summary({ disks: [{ slot: 'Bay.0' }] })).not.toHaveProperty('unhealthy_parts');
  });

  it('of nothing has nothing', () => {
    expect(hardwareSummary(mergeHardware([]))).toEqual({});
  });
});

describe('changes', () => {
  it('a source that says nothing of a section does not say that its parts are gone', () => {
    const before = { disks: [{ slot: 'Bay.0', serial_number: 'A' }] };
    expect(hardwareChanges(before, {})).toEqual([]);
    expect(hardwareChanges(before, { disks: [] })).toEqual(['disk Bay.0 is missing']);
  });

  it('the life of a drive and a link are no changes, and health is one', () => {
    const disk = (fields: object) => ({ disks: [{ slot: 'Bay.0', ...fields }] });
    expect(hardwareChanges(disk({ life_left_percent: 90 }), disk({ life_left_percent: 89 }))).toEqual([]);
    expect(hardwareChanges(disk({ health: 'OK' }), disk({ health: 'Warning' }))).toEqual([
      'disk Bay.0: health was OK, is Warning',
    ]);
  });
});
