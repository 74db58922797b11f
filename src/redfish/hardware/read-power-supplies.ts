/** Power supplies of a Redfish service: in a collection of the chassis, or in the older resource for power. */
import type { PowerSupplyFacts } from '../../domain/install/hardware-inventory.ts';
import { fieldsOf, linkOf } from '../extended-error.ts';
import type { RedfishService, Resource } from '../redfish-service.ts';
import { count, type Fields, isThere, partFields, present, text } from './redfish-fields.ts';

/** Undefined: the service does not say. */
export async function readPowerSupplies(
  service: RedfishService,
  chassis: readonly Resource[],
): Promise<PowerSupplyFacts[] | undefined> {
  let isKnown = false;
  const supplies: Fields[] = [];
  for (const { fields } of chassis) {
    const found = (await inSubsystem(service, fields)) ?? (await inPower(service, fields));
    if (found === null) continue;
    isKnown = true;
    supplies.push(...found);
  }
  if (!isKnown) return undefined;
  return supplies.filter(isThere).map((fields) =>
    present({
      ...partFields(fields),
      slot: text(fields.Id) ?? text(fields.Name),
      capacity_watts: count(fields.PowerCapacityWatts),
    }),
  );
}

async function inSubsystem(service: RedfishService, chassis: Fields): Promise<Fields[] | null> {
  const subsystem = linkOf(chassis.PowerSubsystem);
  const path = subsystem === null ? null : linkOf((await service.find(subsystem))?.fields.PowerSupplies);
  return path === null ? null : ((await service.resourcesIfThere(path))?.map(({ fields }) => fields) ?? null);
}

async function inPower(service: RedfishService, chassis: Fields): Promise<Fields[] | null> {
  const path = linkOf(chassis.Power);
  const supplies = path === null ? undefined : (await service.find(path))?.fields.PowerSupplies;
  return Array.isArray(supplies) ? supplies.map(fieldsOf) : null;
}
