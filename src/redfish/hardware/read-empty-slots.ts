/**
 * Slots that a Redfish service lists as empty: processors, memory modules, drives and power supplies whose state is Absent, and slots for
 * PCIe cards without a device.
 */
import type { EmptySlot } from '../../domain/install/hardware-inventory.ts';
import { type Fields, fieldsOf, listOf } from '../connection/answer-fields.ts';
import { linkedFields, linkedMembers } from '../service/linked-fields.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { isThere, slotOf, text } from './part-fields.ts';

/** What was read already; null: the service does not have it. */
export interface ReadSections {
  readonly processors: readonly Resource[] | null;
  readonly modules: readonly Resource[] | null;
}

/** Undefined: it lists none. */
export async function readEmptySlots(
  service: RedfishService,
  { processors, modules }: ReadSections,
  chassis: readonly Resource[],
): Promise<EmptySlot[] | undefined> {
  const found: EmptySlot[] = [
    ...absent('processor', fieldsOfAll(processors), ({ Socket: socket }) => text(socket)),
    ...absent('memory', fieldsOfAll(modules), ({ DeviceLocator: place }) => text(place)),
  ];
  for (const { fields } of chassis) {
    const power = await linkedFields(service, fields.PowerSubsystem);
    found.push(...absent('power_supply', await linkedMembers(service, power.PowerSupplies)));
    found.push(...absent('drive', await linkedMembers(service, fields.Drives)));
    const slots = (await linkedFields(service, fields.PCIeSlots)).Slots;
    found.push(...emptyPcieSlots(listOf(slots)));
  }
  return found.length === 0 ? undefined : found;
}

function absent(
  kind: string,
  parts: readonly Fields[],
  placeOf: (fields: Fields) => string | undefined = () => undefined,
): EmptySlot[] {
  return parts
    .filter((fields) => !isThere(fields))
    .flatMap((fields) => {
      const slot = placeOf(fields) ?? slotOf(fields);
      return slot === undefined ? [] : [{ kind, slot }];
    });
}

function emptyPcieSlots(slots: readonly Fields[]): EmptySlot[] {
  return slots.flatMap((fields, index) => {
    const devices = fieldsOf(fields.Links).PCIeDevice;
    const isUsed = Array.isArray(devices) ? devices.length > 0 : isThere(fields);
    return isUsed ? [] : [{ kind: 'pcie', slot: slotOf(fields) ?? `slot ${index + 1}` }];
  });
}

function fieldsOfAll(resources: readonly Resource[] | null): Fields[] {
  return (resources ?? []).map(({ fields }) => fields);
}
