import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { HardwareSchema } from '../../../../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { slotGroups } from './slots.ts';

it('has a slot for each part and for each empty slot, in the order of the board, with its health in words', () => {
  const hardware = create(HardwareSchema, {
    memoryModules: [
      { slot: 'A10', sizeBytes: 34_359_738_368n, health: 'Critical', serialNumber: 'S2' },
      { slot: 'A2', sizeBytes: 34_359_738_368n, health: 'OK' },
    ],
    powerSupplies: [{ slot: 'PSU.1', capacityWatts: 1400 }],
    emptySlots: [
      { kind: 'memory', slot: 'A3' },
      { kind: 'power_supply', slot: 'PSU.2' },
    ],
  });
  const shown = slotGroups(hardware).map(({ title, slots }) => [
    title,
    slots.map(({ place, part, health, tone }) => [place, part, health, tone]),
  ]);
  expect(shown).toEqual([
    [
      'Memory',
      [
        ['A2', '32 GiB', 'OK', 'green'],
        ['A3', '', 'empty', 'gray'],
        ['A10', '32 GiB', 'Critical', 'red'],
      ],
    ],
    [
      'Power supplies',
      [
        ['PSU.1', '1400 W', 'health not reported', 'gray'],
        ['PSU.2', '', 'empty', 'gray'],
      ],
    ],
  ]);
});
