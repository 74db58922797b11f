/** The slots of a machine as a picture: what is in each, how it is, and which are empty. */
import { bytesText } from '../../../../../src/domain/agent/metric-text.ts';
import type { Hardware } from '../../../../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';

export type SlotTone = 'green' | 'yellow' | 'red' | 'gray';

export interface Slot {
  /** The label on the board. */
  readonly place: string;
  /** What is in it, in short; empty: nothing is. */
  readonly part: string;
  /** In words: OK, Warning, Critical, not reported, empty. */
  readonly health: string;
  readonly tone: SlotTone;
  /** All that is known of it. */
  readonly detail: string;
}

export interface SlotGroup {
  readonly title: string;
  readonly slots: readonly Slot[];
}

const TONES: Readonly<Record<string, SlotTone>> = { OK: 'green', Warning: 'yellow', Critical: 'red' };

function slot(place: string, part: string, health: string, details: readonly string[]): Slot {
  return {
    place,
    part,
    health: health || 'health not reported',
    tone: TONES[health] ?? 'gray',
    detail: details.filter((text) => text !== '').join(', '),
  };
}

const named = (name: string, value: string) => (value === '' ? '' : `${name} ${value}`);
const sized = (bytes: bigint) => (bytes === 0n ? '' : bytesText(Number(bytes)));

/** Only the groups that have slots. */
export function slotGroups(hardware: Hardware): SlotGroup[] {
  const groups: readonly (readonly [title: string, kind: string, slots: readonly Slot[]])[] = [
    ['Processors', 'processor', processorSlots(hardware)],
    ['Memory', 'memory', memorySlots(hardware)],
    ['Drives', 'drive', driveSlots(hardware)],
    ['GPUs', 'gpu', gpuSlots(hardware)],
    ['PCIe devices', 'pcie', pcieSlots(hardware)],
    ['Network ports', 'nic', portSlots(hardware)],
    ['Power supplies', 'power_supply', supplySlots(hardware)],
  ];
  return groups
    .map(([title, kind, slots]) => ({ title, slots: inOrder([...slots, ...emptySlots(hardware, kind)]) }))
    .filter(({ slots }) => slots.length > 0);
}

const NATURAL = new Intl.Collator('en', { numeric: true });

function inOrder(slots: readonly Slot[]): Slot[] {
  return slots.toSorted((left, right) => NATURAL.compare(left.place, right.place));
}

function emptySlots({ emptySlots: empty }: Hardware, kind: string): Slot[] {
  return empty
    .filter((one) => one.kind === kind)
    .map(({ slot: place }) => ({ place, part: '', health: 'empty', tone: 'gray', detail: '' }));
}

function processorSlots({ processors }: Hardware): Slot[] {
  return processors.map((part, index) =>
    slot(part.slot || `CPU ${index + 1}`, part.model, part.health, [
      part.cores === 0 ? '' : `${part.cores} cores`,
      named('serial', part.serialNumber),
      named('microcode', part.microcode),
    ]),
  );
}

function memorySlots({ memoryModules }: Hardware): Slot[] {
  return memoryModules.map((part, index) =>
    slot(part.slot || `DIMM ${index + 1}`, sized(part.sizeBytes), part.health, [
      part.type,
      part.speedMts === 0 ? '' : `${part.speedMts} MT/s`,
      part.manufacturer,
      named('part', part.partNumber),
      named('serial', part.serialNumber),
    ]),
  );
}

function driveSlots({ drives }: Hardware): Slot[] {
  return drives.map((part, index) =>
    slot(part.slot || part.name || `Drive ${index + 1}`, sized(part.sizeBytes), part.health, [
      part.model,
      part.protocol,
      part.media,
      named('serial', part.serialNumber),
      named('firmware', part.firmwareVersion),
      part.lifeLeftPercent === undefined ? '' : `${part.lifeLeftPercent} % of its life left`,
    ]),
  );
}

function gpuSlots({ gpus }: Hardware): Slot[] {
  return gpus.map((part, index) =>
    slot(
      part.slot || part.pciAddress || `GPU ${index + 1}`,
      part.model || `${part.vendorId}:${part.deviceId}`,
      part.health,
      [sized(part.memoryBytes), named('serial', part.serialNumber), named('firmware', part.firmwareVersion)],
    ),
  );
}

function pcieSlots({ pcieDevices }: Hardware): Slot[] {
  return pcieDevices.map((part, index) =>
    slot(part.slot || `Device ${index + 1}`, part.model || part.deviceClass, part.health, [
      part.manufacturer,
      part.deviceClass,
      named('serial', part.serialNumber),
      named('firmware', part.firmwareVersion),
    ]),
  );
}

function portSlots({ nics }: Hardware): Slot[] {
  return nics.map((part) => {
    const speed = part.speedMbps === 0n ? '' : `${Number(part.speedMbps) / 1000} Gb/s`;
    const link = part.link === undefined ? '' : part.link ? 'link' : 'no link';
    return slot(
      part.slot || part.name || part.macAddress,
      [link, speed].filter(Boolean).join(', '),
      part.health,
      [
        part.macAddress,
        part.model,
        named('firmware', part.firmwareVersion),
        part.neighbour === '' ? '' : `to ${part.neighbour} ${part.neighbourPort}`.trim(),
      ],
    );
  });
}

function supplySlots({ powerSupplies }: Hardware): Slot[] {
  return powerSupplies.map((part, index) =>
    slot(
      part.slot || `PSU ${index + 1}`,
      part.capacityWatts === 0 ? part.model : `${part.capacityWatts} W`,
      part.health,
      [part.model, named('serial', part.serialNumber), named('firmware', part.firmwareVersion)],
    ),
  );
}
